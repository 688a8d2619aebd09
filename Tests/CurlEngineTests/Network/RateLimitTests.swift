import Glibc
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct RateLimitTests {
    private static let file = pattern(400_000)

    private func origin() throws -> ScriptedServer {
        try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(RateLimitTests.file.count)\r\n\r\n")
            connection.send(RateLimitTests.file)
            return .keepAlive
        }
    }

    enum Scope: CaseIterable, Sendable { case global, session, task }

    private func limit(_ bench: Bench, _ scope: Scope, _ rate: ByteRate) {
        switch scope {
        case .global: bench.engine.setRateLimits(global: rate)
        case .session: bench.engine.setRateLimit(session: bench.session, rate)
        case .task: bench.engine.setRateLimit(task: bench.task, rate)
        }
    }

    /// At 1 B/s the first chunk takes hours. Only lifting the limit lets it through, and the stall timer must not count
    /// the wait.
    @Test(arguments: Scope.allCases)
    func holdsATransferUntilTheLimitIsLifted(scope: Scope) async throws {
        let bench = try Bench()
        let origin = try origin()
        limit(bench, scope, 1)
        let running = Task {
            // The timer counts until the first chunk comes, and a busy machine may need a while for that.
            try await bench.download(origin.url("/x")) { $0.network.stallTimeout = 5 }
        }
        try await Task.sleep(for: .seconds(6))
        #expect(bench.counters.bytesReceived == 0)
        limit(bench, scope, .unlimited)
        let outcome = try await running.value
        #expect(outcome.end == .finished)
        #expect(try bench.folder.read("part") == Self.file)
        await bench.engine.shutdown()
    }

    @Test func aLimitThatComesLaterHoldsARunningTransfer() async throws {
        let bench = try Bench()
        let goesOn = Guarded(false)
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(RateLimitTests.file.count)\r\n\r\n")
            connection.send(Array(RateLimitTests.file[..<1000]))
            while !goesOn.withLock({ $0 }) { usleep(1000) }
            connection.send(Array(RateLimitTests.file[1000...]))
            return .keepAlive
        }
        let running = Task { try await bench.download(origin.url("/x")) }
        try await eventually("the beginning is written") { bench.counters.bytesReceived == 1000 }
        bench.engine.setRateLimit(session: bench.session, 1)
        goesOn.withLock { $0 = true }
        try await Task.sleep(for: .milliseconds(400))
        #expect(bench.counters.bytesReceived < 100_000)
        bench.engine.setRateLimit(session: bench.session, 100_000_000)
        #expect(try await running.value.end == .finished)
        #expect(try bench.folder.read("part") == Self.file)
        await bench.engine.shutdown()
    }

    @Test func otherSessionsAreNotHeld() async throws {
        let bench = try Bench()
        let origin = try origin()
        bench.engine.setRateLimit(session: SessionKey(owner: UserID(1), identifier: "slow"), 1)
        bench.engine.setRateLimit(task: TaskID(99), 1)
        #expect(try await bench.download(origin.url("/x")).end == .finished)
        await bench.engine.shutdown()
    }
}
