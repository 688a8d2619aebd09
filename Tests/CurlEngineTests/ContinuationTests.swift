import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// An answer that waits for a client becomes that of another exchange.
@Suite struct ContinuationTests {
    /// Lets no answer go on.
    private final class Holding: TransferObserver {
        private let held = Guarded(false)
        var isHeld: Bool { held.withLock { $0 } }

        func transferRedirected(to url: String, status: Int) {}
        func transferResponded(_ head: ResponseHead, verdict: Verdict) {}
        func transferCheckpointed(_ checkpoint: Checkpoint) {}
        func transferHeld(_ head: ResponseHead, proceed: @escaping @Sendable () -> Void) {
            held.withLock { $0 = true }
        }
    }

    private static let content = pattern(500_000)

    /// Answers each POST with as much of the content as the test says, and counts them.
    private func server(_ requests: Notes<[UInt8]>, _ answers: [[UInt8]]) throws -> UploadServer {
        try UploadServer { connection in
            while let head = connection.readHead() {
                requests.add(connection.readBody(of: head))
                let body = answers[min(requests.all.count, answers.count) - 1]
                connection.answer(200, [], body: body)
            }
        }
    }

    /// A request whose answer is held.
    private func held(_ bench: Bench, _ url: String, _ ended: Notes<ExchangeOutcome>) async throws -> RunningExchange {
        var exchange = Exchange(url: url, judge: CaptureJudge())
        (exchange.kind, exchange.method, exchange.payload) = (.request, "POST", .bytes([1, 2, 3]))
        exchange.network.proxy = ""
        exchange.hold = ResponseHold(acceptsAnyStatus: false, asksChallenges: .none)
        let observer = Holding()
        var context = bench.context
        context.observer = observer
        let running = bench.engine.start(exchange, into: nil, sending: nil, as: nil, context: context) { ended.add($0) }
        try await eventually("the answer is held") { observer.isHeld }
        #expect(running.mayBeContinued)
        return running
    }

    private func download(_ bench: Bench, _ url: String, continuing held: RunningExchange) async throws
        -> ExchangeOutcome
    {
        var exchange = Exchange(url: url, judge: Judge.taking())
        (exchange.method, exchange.payload) = ("POST", .bytes([1, 2, 3]))
        exchange.network.proxy = ""
        var context = bench.context
        context.continues = held
        let part = try PartFile.create(path: bench.folder.file("part"), replacing: true)
        return await bench.engine.perform(exchange, into: part, context: context)
    }

    @Test(arguments: [0, 10, 500_000])
    func aHeldAnswerBecomesADownloadOnce(size: Int) async throws {
        let bench = try Bench()
        let (requests, ended) = (Notes<[UInt8]>(), Notes<ExchangeOutcome>())
        let first = Array(Self.content.prefix(size))
        let server = try server(requests, [first, Self.content])
        let running = try await held(bench, server.url("/x"), ended)
        let outcome = try await download(bench, server.url("/x"), continuing: running)
        #expect(outcome.end == .finished && outcome.head?.status == 200)
        #expect(try bench.folder.read("part") == first)
        #expect(requests.all == [[1, 2, 3]] && ended.all.isEmpty)
        #expect(bench.observer.heard.heads.map(\.status) == [200])
        // The next exchange is a new request.
        #expect(try await download(bench, server.url("/x"), continuing: running).end == .finished)
        #expect(try bench.folder.read("part") == Self.content && requests.all.count == 2)
        await bench.engine.shutdown()
    }

    /// The request was sent, whatever became of its answer.
    @Test func whatEndedMeanwhileIsNotRepeated() async throws {
        let bench = try Bench()
        let (requests, ended) = (Notes<[UInt8]>(), Notes<ExchangeOutcome>())
        let server = try server(requests, [Self.content])
        let running = try await held(bench, server.url("/x"), ended)
        running.cancel()
        try await eventually("it ends") { ended.all.count == 1 }
        let outcome = try await download(bench, server.url("/x"), continuing: running)
        guard case .transport = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(outcome.wasSent && outcome.sent == 3 && requests.all.count == 1)
        await bench.engine.shutdown()
    }

    @Test func aStopStopsWhatIsContinued() async throws {
        let bench = try Bench()
        let (requests, ended) = (Notes<[UInt8]>(), Notes<ExchangeOutcome>())
        let server = try UploadServer { connection in
            guard let head = connection.readHead() else { return }
            requests.add(connection.readBody(of: head))
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234")
            _ = connection.readToEnd()
            requests.add([])
        }
        let running = try await held(bench, server.url("/x"), ended)
        let download = Task { try await self.download(bench, server.url("/x"), continuing: running) }
        try await eventually("the beginning is there") { (try? bench.folder.read("part").count) == 4 }
        download.cancel()
        let outcome = try await download.value
        #expect(outcome.end == .aborted && outcome.offset == 4)
        try await eventually("the connection ends") { requests.all.count == 2 }
        await bench.engine.shutdown()
    }
}
