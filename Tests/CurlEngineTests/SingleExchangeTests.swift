import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct SingleExchangeTests {
    /// Starts exchanges whose ends the test decides.
    private final class Engine: ExchangePerforming {
        /// Exchanges that report before `start` returns.
        private let reportsAtOnce: Set<String>
        private let reports = Guarded<[String: @Sendable (ExchangeOutcome) -> Void]>([:])
        private let stopped = Guarded<[String]>([])

        init(reportsAtOnce: Set<String> = []) { self.reportsAtOnce = reportsAtOnce }

        var cancelled: [String] { stopped.withLock { $0 } }

        func end(_ url: String) { reports.withLock { $0.removeValue(forKey: url) }?(ExchangeOutcome(end: .finished)) }

        var journal: OffsetJournal? { nil }

        func start(
            _ exchange: Exchange, into part: PartFile?, sending source: UploadSource?, as segment: Segment?,
            context: TransferContext, then report: @escaping @Sendable (ExchangeOutcome) -> Void
        ) -> RunningExchange {
            let url = exchange.url
            if reportsAtOnce.contains(url) {
                report(ExchangeOutcome(end: .finished))
            } else {
                reports.withLock { $0[url] = report }
            }
            // As with libcurl's transfers, the means to stop an exchange holds what the exchange reports to.
            return RunningExchange { [stopped] in withExtendedLifetime(report) { stopped.withLock { $0.append(url) } } }
        }

        func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> PartBoard {
            fatalError("no test asks for a board")
        }

        func setRateLimits(global rate: ByteRate) {}
        func setRateLimit(session: SessionKey, _ rate: ByteRate) {}
        func setRateLimit(task: TaskID, _ rate: ByteRate) {}
        func setUploadRateLimits(global rate: ByteRate) {}
        func setUploadRateLimit(session: SessionKey, _ rate: ByteRate) {}
        func setUploadRateLimit(task: TaskID, _ rate: ByteRate) {}
    }

    private struct Unobserved: TransferObserver {
        func transferRedirected(to url: String, status: Int) {}
        func transferResponded(_ head: ResponseHead, verdict: Verdict) {}
        func transferCheckpointed(_ checkpoint: Checkpoint) {}
    }

    private final class Reported: Sendable {}

    private func start(
        _ url: String, _ single: SingleExchange, then report: @escaping @Sendable (ExchangeOutcome) -> Void
    ) {
        single.start(
            Exchange(url: url, judge: CaptureJudge()), into: nil, sending: nil,
            context: TransferContext(
                task: TaskID(1), session: SessionKey(owner: UserID(1), identifier: "s"), counters: TransferCounters(),
                observer: Unobserved()),
            then: report)
    }

    @Test func nothingIsKeptOfAnExchangeThatIsOver() {
        let (engine, reported) = (Engine(), Guarded<Reported?>(Reported()))
        let single = SingleExchange(engine)
        weak let remains = reported.withLock { $0 }
        do {
            let held = reported.withLock { $0 }
            start("http://a/", single) { _ in withExtendedLifetime(held) {} }
        }
        reported.withLock { $0 = nil }
        #expect(remains != nil)
        engine.end("http://a/")
        #expect(remains == nil && single.running == nil)
    }

    /// The next exchange may begin before `start` of the first one returns.
    @Test func theExchangeThatBeganLastIsStopped() {
        let engine = Engine(reportsAtOnce: ["http://a/"])
        let single = SingleExchange(engine)
        start("http://a/", single) { _ in self.start("http://b/", single) { _ in } }
        single.cancel()
        #expect(engine.cancelled == ["http://b/"])
    }

    @Test func nothingBeginsAfterACancellation() {
        let engine = Engine()
        let single = SingleExchange(engine)
        single.cancel()
        let end = Guarded<ExchangeOutcome.End?>(nil)
        start("http://a/", single) { outcome in end.withLock { $0 = outcome.end } }
        #expect(end.withLock { $0 } == .aborted && single.isCancelled)
    }
}
