import Glibc
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// Files that fail: the part's descriptor is replaced by a device that refuses just the call in question.
@Suite struct PartSinkTests {
    private func origin() throws -> ScriptedServer {
        try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            connection.send(pattern(100_000))
            return .keepAlive
        }
    }

    private func part(_ bench: Bench, on device: String) throws -> PartFile {
        let part = try bench.part()
        let descriptor = open(device, O_RDWR | O_CLOEXEC)
        #expect(dup2(descriptor, part.fileDescriptor) >= 0)
        close(descriptor)
        return part
    }

    @Test func reportsAFullDisk() async throws {
        let bench = try Bench()
        let origin = try origin()
        let outcome = await bench.perform(origin.url("/x"), into: try part(bench, on: "/dev/full"))
        #expect(outcome.end == .local(errno: ENOSPC, operation: "pwrite"))
        #expect(outcome.offset == .zero)
        #expect(bench.observer.heard.checkpoints.allSatisfy { $0.offset == .zero })
        await bench.engine.shutdown()
    }

    @Test func doesNotTrustBytesThatCouldNotBeSynced() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
            connection.send(pattern(100_000))
            return .close
        }
        let outcome = await bench.perform(origin.url("/x"), into: try part(bench, on: "/dev/null"))
        #expect(outcome.end == .local(errno: EINVAL, operation: "fdatasync"))
        #expect(outcome.offset == .zero)
        #expect(bench.observer.heard.checkpoints.allSatisfy { $0.offset == .zero })
        await bench.engine.shutdown()
    }

    @Test func reportsAPartThatIsShorterThanItsOffset() async throws {
        let bench = try Bench()
        let origin = try origin()
        let outcome = await bench.perform(origin.url("/x"), into: try bench.part(), judge: .taking(offset: 10))
        guard case .local(EIO, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        await bench.engine.shutdown()
    }

    @Test func cutsWhatIsBeyondTheOffset() async throws {
        let bench = try Bench()
        let part = try bench.part()
        try part.truncate(to: 500_000)
        let origin = try origin()
        let outcome = await bench.perform(origin.url("/x"), into: part)
        #expect(outcome.end == .finished)
        var status = stat()
        #expect(fstat(part.fileDescriptor, &status) == 0)
        #expect(status.st_size == 100_000)
        await bench.engine.shutdown()
    }

    /// A journal that stayed behind the checkpoint would have a copied file begin anew after `kill -9`.
    @Test func aCheckpointOfBytesThatTheKernelCopiedIsBelieved() throws {
        let bench = try Bench()
        let path = bench.folder.file("offsets")
        let journal = try OffsetJournal(path: path, slots: 4)
        let part = try bench.part()
        let services = PartSink.Services(
            lane: DeviceLane(device: part.device), journal: journal, buffers: BufferPool(bound: 1 << 20),
            ledger: SinkLedger(), onBuffersFreed: {})
        let context = TransferContext(
            task: bench.task, session: bench.session, counters: bench.counters, observer: bench.observer)
        let sink = PartSink(part: part, acceptance: Acceptance(offset: .zero), context: context, services: services) {}
        sink.begin()
        try part.truncate(to: 5000)
        sink.wrote(5000, crcOf: nil, 5000)
        sink.synchronize()
        let checkpoint = try #require(bench.observer.heard.checkpoints.last)
        #expect(checkpoint.offset == 5000)
        // What another daemon finds, this one killed here.
        let (_, proven) = try #require(
            try PartFile.reopen(checkpoint, task: bench.task, journal: OffsetJournal(path: path, slots: 4)))
        #expect(proven == 5000)
    }
}
