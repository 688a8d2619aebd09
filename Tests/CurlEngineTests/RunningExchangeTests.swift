import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct RunningExchangeTests {
    /// Starts to download a file to a part. `begun` gets the exchange.
    private func outcome(
        _ url: String, on bench: Bench, begun: @escaping @Sendable (RunningExchange) -> Void
    ) async throws -> ExchangeOutcome {
        let part = try bench.plannedPart()
        let board = bench.engine.board(for: part, nil, context: bench.context)
        let segment = Segment(bound: SegmentBound(start: 0, end: .max), board: board) { _, _ in }
        var exchange = Exchange(url: url, judge: Judge.taking())
        exchange.network.proxy = ""
        return await withCheckedContinuation { continuation in
            begun(
                bench.engine.start(exchange, into: part, sending: nil, as: segment, context: bench.context) {
                    continuation.resume(returning: $0)
                })
        }
    }

    @Test func whatIsCancelledEndsAborted() async throws {
        let bench = try Bench()
        let isAsked = Guarded<RunningExchange?>(nil)
        // The server cancels the exchange that sends the request, and never answers.
        let origin = try ScriptedServer { _, _ in
            while true {
                if let exchange = isAsked.withLock({ $0 }) {
                    exchange.cancel()
                    return .close
                }
            }
        }
        let outcome = try await outcome(origin.url("/x"), on: bench) { exchange in
            isAsked.withLock { $0 = exchange }
        }
        #expect(outcome.end == .aborted)
        await bench.engine.shutdown()
    }

    @Test func whatCannotBeAskedIsReportedAtOnce() async throws {
        let bench = try Bench()
        let outcome = try await outcome("http://", on: bench) { $0.cancel() }
        guard case .transport = outcome.end else {
            Issue.record("ended with \(outcome.end)")
            return
        }
        await bench.engine.shutdown()
    }

    @Test func anAnswerEndsIt() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd")
            return .close
        }
        let outcome = try await outcome(origin.url("/x"), on: bench) { _ in }
        #expect(outcome.end == .finished)
        #expect(outcome.gathered == Array("abcd".utf8))
        await bench.engine.shutdown()
    }
}
