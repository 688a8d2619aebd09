import CurlEngine
import Threading
import TransferCore
import TransferModel

/// A course that brings a file.
protocol FileCourse: ExchangeCourse where Yield == Arrival {
    /// What the journal alone knows must be stored first: the journal's claims give way to those of this attempt.
    var claimsAnew: Bool { get }
    /// The whole body, if it was small and came at once: it is in no file.
    var gathered: [UInt8]? { get }
    /// Places that were asked for something, as checkpoints name them.
    var asked: Set<String?> { get }
    /// Which bytes came from where.
    var brought: [String?: ByteRangeSet] { get }
}

/// A download whose exchanges follow each other, from one place.
final class DownloadCourse: FileCourse {
    private struct State {
        var steps: StrategySteps<Arrival>
        var sending: SendingFile?
        var gathered: [UInt8]?
        var brought = ByteRangeSet()
        var wasAsked = false
    }

    private let attempt: DownloadAttempt
    private let origin: String?
    private let part: PartFile
    private let recorder: RunRecorder
    private let exchange: SingleExchange
    private let state: Guarded<State>

    /// - Throws: as `StrategyRegistry.download`.
    init(
        _ attempt: DownloadAttempt, _ request: StrategyRequest, into part: PartFile, _ recorder: RunRecorder
    ) throws(TransferError) {
        self.attempt = attempt
        self.part = part
        self.recorder = recorder
        origin = request.origin
        exchange = SingleExchange(attempt.tools.engine)
        let strategy = try StrategyRegistry.download(for: request)
        state = Guarded(State(steps: StrategySteps(strategy, stored: attempt.record.upload)))
    }

    var claimsAnew: Bool { false }
    var gathered: [UInt8]? { state.withLock { $0.gathered } }
    var asked: Set<String?> { state.withLock { $0.wasAsked ? [origin] : [] } }
    var brought: [String?: ByteRangeSet] { state.withLock { $0.wasAsked ? [origin: $0.brought] : [:] } }

    func begin(then: @escaping @Sendable (NextStep<Arrival>) -> Void) {
        then(state.withLock { $0.steps.next(after: nil) })
    }

    func mustPrepare(_ exchange: Exchange) -> Bool {
        state.withLock { $0.gathered != nil || $0.sending == nil && exchange.payload.sourceOffset != nil }
    }

    func prepare(_ exchange: Exchange) async throws -> Exchange {
        let (sending, gathered) = state.withLock { ($0.sending, $0.gathered) }
        if sending == nil, exchange.payload.sourceOffset != nil {
            let opened = try await attempt.tools.files.openSending(
                of: attempt.record, store: attempt.tools.patience.store)
            state.withLock { $0.sending = opened }
        }
        // What was gathered is not the whole: the next exchange continues behind it, in the file.
        if let gathered {
            try await attempt.tools.files.write(gathered, to: part)
            state.withLock { $0.gathered = nil }
        }
        return exchange
    }

    func willPerform(_ exchange: Exchange) async throws {}

    func perform(_ exchange: Exchange, then: @escaping @Sendable (NextStep<Arrival>) -> Void) {
        recorder.begins(exchange)
        let context = TransferContext(
            task: attempt.record.id, session: attempt.record.session, counters: attempt.run.counters,
            observer: recorder)
        let source = state.withLock { $0.sending?.file }
        self.exchange.start(exchange, into: part, sending: source, context: context) { outcome in
            then(
                self.state.withLock { state in
                    state.gathered = outcome.gathered
                    state.wasAsked = true
                    state.brought.insert(ByteRange(max(.zero, outcome.offset - outcome.received), outcome.offset))
                    return state.steps.next(after: outcome)
                })
        }
    }

    func store(_ progress: UploadProgress) async throws {
        try await attempt.tools.keep(progress, of: attempt.record.id)
        state.withLock { $0.steps.stored = progress }
    }

    func restart(because cause: TransferError) async throws {
        let upload = state.withLock { state in
            state.gathered = nil
            state.steps.stored = state.steps.strategy.upload
            return state.steps.stored
        }
        try await attempt.restart(part, because: cause, keeping: upload, recorder)
    }

    func stopped() async throws {
        guard let unstored = state.withLock({ $0.steps.unstored }) else { return }
        try await attempt.tools.keep(unstored.progress, of: attempt.record.id)
    }

    func error(of failure: AttemptFailure) -> any Error {
        guard let unstored = state.withLock({ $0.steps.unstored }) else { return failure }
        var notes = PendingNotes(record: attempt.record, time: nil)
        notes.add(unstored.progress)
        return FailedRequest(failure: failure, notes: notes)
    }

    func cancel() { exchange.cancel() }
}
