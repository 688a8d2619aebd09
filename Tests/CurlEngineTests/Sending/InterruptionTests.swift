import CCurl
import Foundation
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// What ends an upload early, and what delays it.
@Suite struct InterruptionTests {
    private static let length = Int(PayloadFeed.copiedEnd) + 30_000_000
    private static let content = longPattern(length)
    private static let payload = Payload.source(offset: 0, length: ByteCount(Int64(length)))

    /// Reads the first part of the body, waits for `goesOn`, then counts the rest.
    private func holding(_ goesOn: Guarded<Bool>, _ arrived: Notes<Int>) throws -> UploadServer {
        try UploadServer(receiveBuffer: 32 << 10) { connection in
            guard let head = connection.readHead() else { return }
            connection.goOn(head)
            let first = connection.read(100_000)
            while !goesOn.withLock({ $0 }) { usleep(1000) }
            let rest = connection.read(head.length - first.count)
            arrived.add(first.count + rest.count)
            if rest.count == head.length - first.count {
                connection.answer(first + rest == Self.content ? 200 : 409)
            }
        }
    }

    enum Change: CaseIterable, Sendable { case cut, grown, touched, rewritten }

    @Test(arguments: Change.allCases)
    func anotherVersionIsNeverSent(change: Change) async throws {
        let bench = try Bench()
        let (goesOn, arrived) = (Guarded(false), Notes<Int>())
        let server = try holding(goesOn, arrived)
        let source = try bench.source(Self.content)
        let running = Task { await bench.request("PUT", server.url("/x"), Self.payload, sending: source) }
        try await eventually("the beginning is there") { bench.counters.bytesSent > 0 }
        let path = source.path
        switch change {
        case .cut: #expect(truncate(path, 20_000_000) == 0)
        case .grown: #expect(truncate(path, off_t(Self.length + 1)) == 0)
        case .touched:
            var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
            #expect(utimes(path, &times) == 0)
        case .rewritten: try bench.folder.write("source", longPattern(Self.length, seed: 9))
        }
        goesOn.withLock { $0 = true }
        guard case .stopped(.failure(let error, nil)) = await running.value.end else { throw TestFailure("sent") }
        #expect(error.code == .sourceChanged)
        try await eventually("the connection ends") { arrived.all.count == 1 }
        #expect(arrived.all[0] < Self.length)
        await bench.engine.shutdown()
    }

    @Test func endsAtOnceWhenItsTaskIsCancelled() async throws {
        let bench = try Bench()
        let (goesOn, arrived) = (Guarded(false), Notes<Int>())
        let server = try holding(goesOn, arrived)
        let source = try bench.source(Self.content)
        let running = Task { await bench.request("PUT", server.url("/x"), Self.payload, sending: source) }
        try await eventually("the beginning is there") { bench.counters.bytesSent > 0 }
        running.cancel()
        let outcome = await running.value
        #expect(outcome.end == .aborted)
        #expect(outcome.sent > .zero)
        #expect(outcome.sent.rawValue < Int64(Self.length))
        goesOn.withLock { $0 = true }
        try await eventually("the connection ends") { arrived.all.count == 1 }
        await bench.engine.shutdown()
    }

    @Test func aServerThatTakesNothingMoreIsAStall() async throws {
        let bench = try Bench()
        let goesOn = Guarded(false)
        let server = try holding(goesOn, Notes())
        let source = try bench.source(Self.content)
        let outcome = await bench.request("PUT", server.url("/x"), Self.payload, sending: source) {
            $0.network.stallTimeout = 0.4
        }
        #expect(outcome.end == .stalled)
        goesOn.withLock { $0 = true }
        await bench.engine.shutdown()
    }

    @Test func aServerThatDoesNotAnswerIsAStall() async throws {
        let bench = try Bench()
        let goesOn = Guarded(false)
        let server = try UploadServer { connection in
            guard let head = connection.readHead() else { return }
            _ = connection.readBody(of: head)
            while !goesOn.withLock({ $0 }) { usleep(1000) }
        }
        let outcome = await bench.request("PUT", server.url("/x"), .bytes([1, 2, 3])) {
            $0.network.stallTimeout = 3
        }
        #expect(outcome.end == .stalled)
        #expect(outcome.sent == 3)
        goesOn.withLock { $0 = true }
        await bench.engine.shutdown()
    }

    enum Scope: CaseIterable, Sendable { case global, session, task }

    private func limit(_ bench: Bench, _ scope: Scope, _ rate: ByteRate) {
        switch scope {
        case .global: bench.engine.setUploadRateLimits(global: rate)
        case .session: bench.engine.setUploadRateLimit(session: bench.session, rate)
        case .task: bench.engine.setUploadRateLimit(task: bench.task, rate)
        }
    }

    /// At 1 B/s no piece follows the first one for hours. Only lifting the limit lets the rest through, and the stall
    /// timer must not count the wait.
    @Test(arguments: Scope.allCases)
    func aLimitHoldsTheBodyUntilItIsLifted(scope: Scope) async throws {
        let bench = try Bench()
        let content = pattern(1_000_000)
        let server = try UploadServer { connection in
            guard let head = connection.readHead() else { return }
            connection.answer(connection.readBody(of: head) == content ? 200 : 409)
        }
        let source = try bench.source(content)
        limit(bench, scope, 1)
        let running = Task {
            await bench.request("PUT", server.url("/x"), .source(offset: 0, length: 1_000_000), sending: source) {
                // The timer counts before the first piece and after the last. A busy machine may need a while for them.
                $0.network.stallTimeout = 5
            }
        }
        try await eventually("the first piece is sent") { bench.counters.bytesSent > 0 }
        try await Task.sleep(for: .seconds(6))
        #expect(bench.counters.bytesSent <= ByteCount(16 << 10))
        limit(bench, scope, .unlimited)
        let outcome = await running.value
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 200)
        await bench.engine.shutdown()
    }

    @Test func aLimitThatComesLaterHoldsARunningBody() async throws {
        let bench = try Bench()
        let goesOn = Guarded(false)
        let server = try holding(goesOn, Notes())
        let source = try bench.source(Self.content)
        let running = Task { await bench.request("PUT", server.url("/x"), Self.payload, sending: source) }
        try await eventually("the beginning is there") { bench.counters.bytesSent > 0 }
        bench.engine.setUploadRateLimit(session: bench.session, 1)
        goesOn.withLock { $0 = true }
        try await Task.sleep(for: .milliseconds(400))
        #expect(bench.counters.bytesSent.rawValue < Int64(Self.length))
        bench.engine.setUploadRateLimit(session: bench.session, .unlimited)
        #expect(await running.value.head?.status == 200)
        await bench.engine.shutdown()
    }

    /// An error ends the upload although a limit would delay its body for hours.
    @Test func anErrorEndsAnUploadThatIsHeld() async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            guard let head = connection.readHead() else { return }
            connection.goOn(head)
            _ = connection.read(1)
            connection.answer(413)
            _ = connection.readToEnd()
        }
        let source = try bench.source(Self.content)
        bench.engine.setUploadRateLimit(task: bench.task, 1)
        let outcome = await bench.request("PUT", server.url("/x"), Self.payload, sending: source)
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 413)
        await bench.engine.shutdown()
    }

    /// A delayed body is released in the same round in which its connection broke. The outcome must be the broken
    /// connection.
    @Test func aConnectionThatBreaksWhileItsBodyIsLetGoOnIsLost() async throws {
        let bench = try Bench()
        let (breaks, isBroken) = (Guarded(false), Guarded(false))
        let server = try UploadServer { connection in
            guard let head = connection.readHead() else { return }
            guard head.method == "PUT" else { return connection.answer(200, [], "x") }
            connection.goOn(head)
            _ = connection.read(1)
            while !breaks.withLock({ $0 }) { usleep(1000) }
            connection.reset()
            isBroken.withLock { $0 = true }
        }
        let source = try bench.source(Self.content)
        bench.engine.setUploadRateLimit(task: bench.task, 1)
        let running = Task { await bench.request("PUT", server.url("/x"), Self.payload, sending: source) }
        try await eventually("the first piece is sent") { bench.counters.bytesSent > 0 }
        // Another answer keeps the engine busy until both have happened, so the engine sees them in this order.
        let judge = Judge { _ in
            breaks.withLock { $0 = true }
            while !isBroken.withLock({ $0 }) { usleep(1000) }
            bench.engine.setUploadRateLimit(task: bench.task, .unlimited)
            return .stop(.failure(TransferError(.httpStatus, "not wanted"), retryAfter: nil))
        }
        _ = await bench.perform(server.url("/other"), into: nil, judge: judge)
        let outcome = await running.value
        guard case .transport(let code, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(code == Int(CURLE_RECV_ERROR.rawValue) || code == Int(CURLE_SEND_ERROR.rawValue))
        await bench.engine.shutdown()
    }
}
