import CLinux
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Measures rates by count: on a clock that only the test moves, the bytes that have passed are the bytes that the
/// bucket gave, to within one piece.
@Suite struct HeldRateTests {
    enum Way: CaseIterable, Sendable { case download, answer, answerToUpload, stream, upload }
    enum Scope: CaseIterable, Sendable { case global, session, task }

    private static let rate: ByteRate = 1_000_000
    private static let size = 3_000_000
    private static let content = pattern(size)
    /// A piece passes as soon as there is room for all of it.
    private static let piece: Int64 = 16 << 10

    private func limit(_ bench: Bench, _ way: Way, _ scope: Scope, _ rate: ByteRate) {
        let engine = bench.engine
        switch (way == .upload, scope) {
        case (false, .global): engine.setRateLimits(global: rate)
        case (false, .session): engine.setRateLimit(session: bench.session, rate)
        case (false, .task): engine.setRateLimit(task: bench.task, rate)
        case (true, .global): engine.setUploadRateLimits(global: rate)
        case (true, .session): engine.setUploadRateLimit(session: bench.session, rate)
        case (true, .task): engine.setUploadRateLimit(task: bench.task, rate)
        }
    }

    private func perform(_ bench: Bench, _ way: Way, _ url: String) async throws -> ExchangeOutcome {
        switch way {
        case .download: return try await bench.download(url)
        case .answer: return await bench.request("GET", url)
        case .answerToUpload: return await bench.request("POST", url, .bytes([1, 2, 3]))
        case .stream: return await bench.request("GET", url, to: Receiver())
        case .upload:
            let source = try bench.source(Self.content)
            return await bench.request(
                "PUT", url, .source(offset: 0, length: ByteCount(Int64(Self.size))), sending: source)
        }
    }

    /// Accepts any body. Answers a PUT with a short body, and everything else with the content.
    private func server(_ arrived: Guarded<Int64>) throws -> UploadServer {
        try UploadServer { connection in
            while let head = connection.readHead() {
                connection.goOn(head)
                var left = head.length
                while left > 0 {
                    let count = connection.readSome(atMost: left)
                    guard count > 0 else { return }
                    left -= count
                    arrived.withLock { $0 += Int64(count) }
                }
                head.method == "PUT" ? connection.answer(200) : connection.answer(200, body: Self.content)
            }
        }
    }

    @Test(arguments: Way.allCases, Scope.allCases)
    func theRateIsHeld(way: Way, scope: Scope) async throws {
        // The clock is so far ahead that no timer of the engine expires by itself.
        let clock = ManualClock(nanoseconds: dld_monotonic_nanoseconds() + 3600 * 1_000_000_000)
        let bench = try Bench(rateClock: clock)
        let arrived = Guarded<Int64>(0)
        let server = try server(arrived)
        let counters = bench.counters
        let passed: @Sendable () -> Int64 = {
            way == .upload ? arrived.withLock { $0 } : counters.bytesReceived.rawValue
        }
        limit(bench, way, scope, Self.rate)
        #expect(await bench.engine.isResponsive(within: .seconds(30)), "the bucket is there before the clock moves")
        let running = Task { try await perform(bench, way, server.url("/x")) }
        for step in 1...10 as ClosedRange<Int64> {
            clock.advance(by: .milliseconds(100))
            let given = step * 100_000
            // The clock moves before the body comes or while it waits. Each new limit makes the engine look again.
            try await eventually("the bytes of \(step) steps have passed") {
                limit(bench, way, scope, Self.rate)
                return passed() >= given - Self.piece
            }
            for _ in 0..<3 { #expect(await bench.engine.isResponsive(within: .seconds(30))) }
            #expect(passed() <= given)
        }
        limit(bench, way, scope, .unlimited)
        let outcome = try await running.value
        #expect(outcome.end == .finished)
        #expect(passed() == Int64(Self.size))
        await bench.engine.shutdown()
    }

    /// Tasks of both stores share one engine, and a limit on all of them uses one bucket.
    @Test func durableAndVolatileTasksShareALimit() async throws {
        let clock = ManualClock(nanoseconds: dld_monotonic_nanoseconds() + 3600 * 1_000_000_000)
        let bench = try Bench(rateClock: clock)
        let server = try server(Guarded(0))
        let contexts = [bench.task, .firstVolatile].map { task in
            TransferContext(
                task: task, session: bench.session, counters: TransferCounters(), observer: bench.observer)
        }
        let passed: @Sendable () -> Int64 = { contexts.reduce(0) { $0 + $1.counters.bytesReceived.rawValue } }
        bench.engine.setRateLimits(global: Self.rate)
        #expect(await bench.engine.isResponsive(within: .seconds(30)))
        let running = contexts.map { context in
            Task {
                var exchange = Exchange(url: server.url("/x"), judge: CaptureJudge())
                exchange.kind = .request
                exchange.method = "GET"
                exchange.network.proxy = ""
                return await bench.engine.perform(exchange, into: nil, context: context)
            }
        }
        for step in 1...10 as ClosedRange<Int64> {
            clock.advance(by: .milliseconds(100))
            try await eventually("the bytes of \(step) steps have passed") {
                bench.engine.setRateLimits(global: Self.rate)
                return passed() >= step * 100_000 - 2 * Self.piece
            }
            for _ in 0..<3 { #expect(await bench.engine.isResponsive(within: .seconds(30))) }
            #expect(passed() <= step * 100_000)
        }
        bench.engine.setRateLimits(global: .unlimited)
        for task in running { #expect(await task.value.end == .finished) }
        await bench.engine.shutdown()
    }
}
