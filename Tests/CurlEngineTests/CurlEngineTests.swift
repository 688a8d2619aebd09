import Glibc
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Downloads from a server that behaves correctly.
@Suite struct CurlEngineTests {
    private static let file = pattern(3 << 20)

    private func origin() throws -> ScriptedServer {
        try ScriptedServer { request, connection in
            let file = CurlEngineTests.file
            let start = request.rangeStart ?? 0
            let rest = Array(file[start...])
            let status = start > 0 ? "206 Partial Content" : "200 OK"
            let range = start > 0 ? "Content-Range: bytes \(start)-\(file.count - 1)/\(file.count)\r\n" : ""
            connection.send("HTTP/1.1 \(status)\r\n\(range)ETag: \"a\"\r\nContent-Length: \(rest.count)\r\n\r\n")
            connection.send(rest)
            return .keepAlive
        }
    }

    @Test func writesABodyToThePartFile() async throws {
        let bench = try Bench()
        let origin = try origin()
        let outcome = try await bench.download(origin.url("/file?x=1#fragment"))
        #expect(outcome.end == .finished)
        #expect(outcome.offset == ByteCount(3 << 20))
        #expect(outcome.received == ByteCount(3 << 20))
        #expect(outcome.delimited)
        #expect(outcome.head?.status == 200)
        #expect(outcome.head?.url == origin.url("/file?x=1"))
        #expect(try bench.folder.read("part") == Self.file)
        #expect(bench.counters.bytesReceived == ByteCount(3 << 20))
        #expect(bench.counters.bytesExpected == 3 << 20)
        #expect(bench.counters.phase == .transferring)
        #expect(origin.requests.first?.header("User-Agent") == "dld-test")
        await bench.engine.shutdown()
    }

    @Test func continuesAtAnOffset() async throws {
        let bench = try Bench()
        let origin = try origin()
        let offset = 1_000_001
        try bench.folder.write("part", Array(Self.file[..<offset]))
        let checkpoint = try checkpoint(of: bench, offset: Int64(offset))
        let (part, proven) = try #require(try bench.recover(checkpoint))
        #expect(proven.offset == ByteCount(Int64(offset)))
        let outcome = await bench.perform(
            origin.url("/file"), into: part, judge: .taking(offset: Int64(offset), total: 3 << 20)
        ) { $0.headers = [HeaderField("Range", "bytes=\(offset)-")] }
        #expect(outcome.end == .finished)
        #expect(outcome.offset == ByteCount(3 << 20))
        #expect(outcome.received == ByteCount(Int64((3 << 20) - offset)))
        #expect(try bench.folder.read("part") == Self.file)
        await bench.engine.shutdown()
    }

    private func checkpoint(of bench: Bench, offset: Int64) throws -> Checkpoint {
        var status = stat()
        #expect(stat(bench.folder.file("part"), &status) == 0)
        return Checkpoint(
            offset: ByteCount(offset), total: ByteCount(3 << 20), validators: Validators(etag: "\"a\""),
            partPath: bench.folder.file("part"), device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    @Test func reusesAConnection() async throws {
        let bench = try Bench()
        let origin = try origin()
        for _ in 0..<3 { #expect(try await bench.download(origin.url("/file")).end == .finished) }
        #expect(origin.connectionCount == 1)
        await bench.engine.shutdown()
    }

    @Test func renewsItsConnections() async throws {
        let bench = try Bench()
        let origin = try origin()
        #expect(try await bench.download(origin.url("/file")).end == .finished)
        bench.engine.renewConnections()
        #expect(try await bench.download(origin.url("/file")).end == .finished)
        #expect(origin.connectionCount == 2)
        await bench.engine.shutdown()
    }

    @Test func runsManyAtOnce() async throws {
        let bench = try Bench()
        let origin = try origin()
        let ends = await withTaskGroup(of: ExchangeOutcome.End?.self) { group in
            for index in 0..<40 {
                group.addTask {
                    guard let part = try? bench.part("part\(index)") else { return nil }
                    return await bench.perform(origin.url("/file"), into: part).end
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(ends == Array(repeating: .finished, count: 40))
        for index in 0..<40 { #expect(try bench.folder.read("part\(index)") == Self.file) }
        await bench.engine.shutdown()
    }

    @Test func abortsWhenItsTaskIsCancelledAndKeepsWhatArrived() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nETag: \"a\"\r\n\r\n")
            connection.send(Array(CurlEngineTests.file[..<300_000]))
            connection.awaitClose()
            return .close
        }
        let running = Task { try await bench.download(origin.url("/file")) }
        try await eventually("300000 bytes written") { bench.counters.bytesReceived == 300_000 }
        running.cancel()
        let outcome = try await running.value
        #expect(outcome.end == .aborted)
        #expect(outcome.offset == 300_000)
        #expect(try bench.folder.read("part") == Array(Self.file[..<300_000]))
        #expect(bench.observer.heard.checkpoints.last?.offset == 300_000)
        #expect(bench.observer.heard.checkpoints.last?.validators.etag == "\"a\"")
        await bench.engine.shutdown()
    }

    @Test func refusesToStartInACancelledTask() async throws {
        let bench = try Bench()
        let origin = try origin()
        let running = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await bench.download(origin.url("/file"))
        }
        running.cancel()
        #expect(try await running.value.end == .aborted)
        #expect(origin.requests.isEmpty)
        await bench.engine.shutdown()
    }

    @Test func shutsDownWithACheckpointAndThenRefuses() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            connection.send(Array(CurlEngineTests.file[..<100_000]))
            connection.awaitClose()
            return .close
        }
        let running = Task { try await bench.download(origin.url("/file")) }
        try await eventually("100000 bytes written") { bench.counters.bytesReceived == 100_000 }
        await bench.engine.shutdown()
        let outcome = try await running.value
        #expect(outcome.end == .aborted)
        #expect(outcome.offset == 100_000)
        #expect(bench.observer.heard.checkpoints.last?.offset == 100_000)
        #expect(await bench.request("PUT", origin.url("/late"), .bytes([1])).end == .aborted)
        #expect(await !bench.engine.isResponsive(within: .milliseconds(10)))
        await bench.engine.shutdown()
    }

    @Test func announcesTheVersionSoonAndTheProofSurvivesACrash() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\nETag: \"a\"\r\n\r\n")
            connection.send(Array(CurlEngineTests.file[..<2_000_000]))
            connection.awaitClose()
            return .close
        }
        let running = Task { try await bench.download(origin.url("/file")) }
        try await eventually("2000000 bytes written") { bench.counters.bytesReceived == 2_000_000 }
        try await eventually("a checkpoint stored") { !bench.observer.heard.checkpoints.isEmpty }
        // What a new daemon would find if this one were killed now. The test reads a copy, because the slot is in use
        // here.
        let stored = try #require(bench.observer.heard.checkpoints.first)
        try bench.folder.write("journal-after-kill", try bench.folder.read("journal"))
        let journal = try OffsetJournal(path: bench.folder.file("journal-after-kill"), slots: 8)
        let proven = try PartFile.recover(stored, task: bench.task, journal: journal)?.checkpoint.offset
        #expect(proven == 2_000_000)
        running.cancel()
        _ = try await running.value
        await bench.engine.shutdown()
    }

    @Test func provesBytesBeyondALaterCheckpoint() async throws {
        let bench = try Bench()
        let goesOn = Guarded(false)
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\nETag: \"a\"\r\n\r\n")
            connection.send(Array(CurlEngineTests.file[..<100_000]))
            while !goesOn.withLock({ $0 }) { usleep(1000) }
            connection.send(Array(CurlEngineTests.file[100_000..<200_000]))
            connection.awaitClose()
            return .close
        }
        let running = Task { try await bench.download(origin.url("/file")) }
        try await eventually("a checkpoint at 100000") { bench.observer.heard.checkpoints.last?.offset == 100_000 }
        goesOn.withLock { $0 = true }
        try await eventually("200000 bytes written") { bench.counters.bytesReceived == 200_000 }
        let stored = try #require(bench.observer.heard.checkpoints.last { $0.offset == 100_000 })
        try bench.folder.write("journal-after-kill", try bench.folder.read("journal"))
        let journal = try OffsetJournal(path: bench.folder.file("journal-after-kill"), slots: 8)
        let entry = try #require(journal.entry(task: bench.task, device: stored.device, inode: stored.inode))
        #expect(entry.base >= 100_000)
        #expect(entry.offset == 200_000)
        #expect(try PartFile.recover(stored, task: bench.task, journal: journal)?.checkpoint.offset == 200_000)
        running.cancel()
        _ = try await running.value
        await bench.engine.shutdown()
    }

    @Test func emptiesAPartOnlyAfterItsCheckpointWasReplaced() async throws {
        let bench = try Bench(holdsRestarts: true)
        let origin = try origin()
        let old = [UInt8](repeating: 7, count: 5000)
        try bench.folder.write("part", old)
        let (part, _) = try #require(
            try bench.recover(try checkpoint(of: bench, offset: 5000)))
        let running = Task { await bench.perform(origin.url("/file"), into: part, judge: .taking(truncate: true)) }
        try await eventually("the restart is announced") { !bench.observer.heard.restarts.isEmpty }
        #expect(bench.observer.heard.restarts.first?.offset == .zero)
        #expect(try bench.folder.read("part") == old)
        #expect(bench.observer.proceed())
        #expect(await running.value.end == .finished)
        #expect(try bench.folder.read("part") == Self.file)
        await bench.engine.shutdown()
    }

    @Test func emptiesAPartForAnEmptyBody() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return .keepAlive
        }
        try bench.folder.write("part", [1, 2, 3])
        let (part, _) = try #require(
            try bench.recover(try checkpoint(of: bench, offset: 3)))
        let outcome = await bench.perform(origin.url("/empty"), into: part, judge: .taking(truncate: true))
        #expect(outcome.end == .finished)
        #expect(outcome.offset == .zero)
        #expect(try bench.folder.read("part").isEmpty)
        await bench.engine.shutdown()
    }
}
