import CLinux
import Glibc
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Files that fail: the test replaces the part's descriptor with a device that refuses exactly the call in question.
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

    @Test(.enabled(if: CrashableDisk.isPossible, "loop mounts need root"))
    func takesNothingOfWhatIsKeptForRoot() async throws {
        let disk = try await CrashableDisk.make(megabytes: 64)
        let length = try disk.unreservedSpace() + 4096
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
            connection.send(pattern(1000))
            return .close
        }
        try Files.write(disk.path + "/part", [])
        let outcome = await bench.perform(origin.url("/x"), into: try part(bench, on: disk.path + "/part"))
        #expect(outcome.end == .local(errno: ENOSPC, operation: "fallocate"))
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
        let part = try bench.part()
        let outcome = await bench.perform(origin.url("/x"), into: part, judge: .taking(offset: 10))
        guard case .local(ESTALE, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(part.isDamaged)
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

    /// A daemon that dies before its store knows of the file loses all of its bytes. That may be one megabyte at most.
    @Test func noMoreThanAMegabyteIsWrittenBeforeTheStoreKnowsOfTheFile() async throws {
        let bench = try Bench(holdsFiles: true)
        let size = 8 << 20
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            connection.send(pattern(size))
            return .close
        }
        let part = try bench.part()
        async let outcome = bench.perform(origin.url("/x"), into: part)
        try await eventually("half a megabyte") { bench.counters.bytesReceived > ByteCount(PartSink.unknownBytes) }
        // Gives the failure time to happen. A slow machine detects less of it.
        try await Task.sleep(for: .milliseconds(300))
        #expect(bench.counters.bytesReceived <= ByteCount(1 << 20))
        #expect(bench.observer.proceed())
        #expect(await outcome.end == .finished)
        #expect(await outcome.offset == ByteCount(Int64(size)))
        await bench.engine.shutdown()
    }

    /// A sink that the test drives itself.
    private func sink(
        _ bench: Bench, _ part: PartFile, journal: OffsetJournal? = nil, onChange: @escaping @Sendable () -> Void = {}
    ) throws -> PartSink {
        let files = FileSide(journal: journal, bufferBound: 1_048_576, inPlace: true)
        let context = TransferContext(
            task: bench.task, session: bench.session, counters: bench.counters, observer: bench.observer)
        let board = PartBoard(part: part, alone: .zero, context: context, files: files)
        let sink = board.sink(Acceptance(offset: .zero), onChange: onChange)
        sink.begin()
        return sink
    }

    /// However fast the bytes come, the next checkpoint never has more than two checkpoints' worth of bytes to write.
    @Test func readingStopsWhereTheDiskIsBehindAndGoesOnAtTheNextCheckpoint() throws {
        let bench = try Bench()
        let part = try bench.part()
        let wakes = Guarded(0)
        let sink = try sink(bench, part) { wakes.withLock { $0 += 1 } }
        let size = CheckpointPace.unsyncedBytes
        try part.truncate(to: ByteCount(size))
        sink.wrote(1000, crcOf: nil, 1000)
        let slow = try #require(sink.board.joinRound(at: dld_monotonic_nanoseconds()))
        sink.wrote(size, crcOf: nil, Int(size - 1000))
        #expect(sink.admits(at: dld_monotonic_nanoseconds()))
        sink.wrote(size + 1, crcOf: nil, 1)
        #expect(!sink.admits(at: dld_monotonic_nanoseconds()))
        #expect(wakes.withLock { $0 } == 0)
        slow.synced()
        // The sync of the rest has started by itself, and in this test it is complete when the call returns.
        #expect(wakes.withLock { $0 } == 1)
        #expect(sink.admits(at: dld_monotonic_nanoseconds()))
        #expect(bench.observer.heard.checkpoints.map(\.offset).suffix(2) == [1000, ByteCount(size + 1)])
    }

    /// Between two checkpoints the kernel is told to write. During a checkpoint that would only make the checkpoint
    /// longer.
    @Test func whatIsWrittenGoesToTheDiskBeforeACheckpointNeedsIt() {
        var state = PartSink.State(from: 0)
        func taken(_ written: Int64, durable: Int64 = 0, isSyncing: Bool = false) -> [Int64]? {
            state.written = written
            state.durable = durable
            return state.takeWriteBack(isSyncing: isSyncing).map { [$0.offset, $0.count] }
        }
        let step = PartSink.State.writeBackBytes
        #expect(taken(step - 1) == nil)
        #expect(taken(step) == [0, step])
        #expect(taken(2 * step - 1) == nil)
        #expect(taken(2 * step + 5) == [step, step + 5])
        // A checkpoint wrote more than was asked for.
        #expect(taken(4 * step, durable: 4 * step - 1) == nil)
        #expect(taken(5 * step, durable: 4 * step) == [4 * step, step])
        #expect(taken(7 * step, isSyncing: true) == nil)
    }

    /// If the journal stayed behind the checkpoint, a copied file would start over after `kill -9`.
    @Test func aCheckpointOfBytesThatTheKernelCopiedIsBelieved() throws {
        let bench = try Bench()
        let path = bench.folder.file("offsets")
        let part = try bench.part()
        let sink = try sink(bench, part, journal: try OffsetJournal(path: path, slots: 4))
        try part.truncate(to: 5000)
        sink.wrote(5000, crcOf: nil, 5000)
        sink.board.synchronize()
        let checkpoint = try #require(bench.observer.heard.checkpoints.last)
        #expect(checkpoint.offset == 5000)
        // What another daemon finds if this one is killed here.
        let (_, proven) = try #require(
            try PartFile.recover(
                checkpoint, task: bench.task, journal: OffsetJournal(path: path, slots: 4), mayHaveHoles: true))
        #expect(proven.offset == 5000)
    }

    /// The bytes that a pause made durable are reported before they are stored. Until then only the journal knows of
    /// them.
    @Test func theJournalStillKnowsWhatAnEndMadeDurable() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\nETag: \"a\"\r\n\r\n")
            connection.send(pattern(3_000_000))
            return .close
        }
        let outcome = await bench.perform(origin.url("/x"), into: try bench.part())
        #expect(outcome.offset == 3_000_000)
        // What the next daemon finds if this one was killed before it stored more than the start.
        let first = try #require(bench.observer.heard.files.first)
        #expect(first.offset == .zero)
        let journal = try OffsetJournal(path: bench.folder.file("journal"), slots: 4)
        let (_, proven) = try #require(try PartFile.recover(first, task: bench.task, journal: journal))
        #expect(proven.offset == 3_000_000)
        await bench.engine.shutdown()
    }

    @Test func aFileSystemThatBecameReadOnlyIsWaitedFor() {
        #expect(LocalFailure("open", errno: EROFS).transferError("/d/f").code == .diskIO)
        #expect(LocalFailure("open", errno: EACCES).transferError("/d/f").code == .destinationNotWritable)
    }
}
