import CurlEngine
import Threading
import TransferCore
import TransferModel

/// A course that fetches a file.
protocol FileCourse: ExchangeCourse where Yield == Arrival {
    /// What only the journal knows must be stored first, because this attempt replaces the journal's claims.
    var claimsAnew: Bool { get }
    /// The whole body, if it was small and came at once. It is in no file.
    var gathered: [UInt8]? { get }
    /// The mirrors that were asked, by the names that checkpoints use.
    var asked: Set<String?> { get }
    /// The bytes that each mirror delivered.
    var brought: [String?: ByteRangeSet] { get }
}

/// A download from one mirror whose exchanges follow each other. If an answer is too long to be gathered, a
/// `SegmentConductor` may take over and fetch it in segments.
final class DownloadCourse: FileCourse {
    private struct State {
        var steps: StrategySteps<Arrival>
        /// The conductor that replaces `steps`, and its id for the exchange that it took over.
        var parted: (conductor: SegmentConductor, first: SegmentID)?
        var sending: SendingFile?
        var gathered: [UInt8]?
        var brought = ByteRangeSet()
        var wasAsked = false
    }

    private let attempt: DownloadAttempt
    private let inquiry: Inquiry
    private let held: HeldPart
    private let exchange: SingleExchange
    private let state: Guarded<State>

    /// - Throws: what `StrategyRegistry.download` throws.
    init(_ attempt: DownloadAttempt, _ inquiry: Inquiry, into held: HeldPart) throws(TransferError) {
        self.attempt = attempt
        self.inquiry = inquiry
        self.held = held
        exchange = SingleExchange(attempt.tools.engine)
        attempt.recorder.beginsOneStream()
        let strategy = try StrategyRegistry.download(for: inquiry.request)
        state = Guarded(State(steps: StrategySteps(strategy: strategy, stored: attempt.record.upload)))
    }

    var claimsAnew: Bool { false }
    var gathered: [UInt8]? {
        if let conductor = parted?.conductor { return conductor.gathered }
        return state.withLock { $0.gathered }
    }
    var asked: Set<String?> {
        let own: Set<String?> = state.withLock { $0.wasAsked ? [mirror] : [] }
        return own.union(parted?.conductor.asked ?? [])
    }
    var brought: [String?: ByteRangeSet] {
        var brought = parted?.conductor.brought ?? [:]
        let own = state.withLock { $0.brought }
        for range in own.ranges { brought[mirror, default: ByteRangeSet()].insert(range) }
        return brought
    }

    private var mirror: String? { inquiry.request.mirror }
    private var parted: (conductor: SegmentConductor, first: SegmentID)? { state.withLock { $0.parted } }

    func begin(then: @escaping @Sendable (NextStep<Arrival>) -> Void) {
        then(
            state.withLock { state in
                if case .answered(_, let body?) = inquiry.request.redirects { state.gathered = body }
                return state.steps.next(after: nil)
            })
    }

    func mustPrepare(_ exchange: Exchange) -> Bool {
        state.withLock { state in
            guard state.parted == nil else { return false }
            return state.gathered != nil || state.sending == nil && exchange.payload.sourceOffset != nil
        }
    }

    func prepare(_ exchange: Exchange) async throws -> Exchange {
        let (sending, gathered) = state.withLock { ($0.sending, $0.gathered) }
        if sending == nil, exchange.payload.sourceOffset != nil {
            let opened = try await attempt.tools.files.openSending(
                of: attempt.record, store: attempt.tools.patience.store)
            state.withLock { $0.sending = opened }
        }
        // The gathered bytes are not the whole body. The next exchange continues after them, in the file.
        if let gathered {
            try await attempt.tools.files.write(gathered, to: held.part)
            state.withLock { $0.gathered = nil }
        }
        return exchange
    }

    func willPerform(_ exchange: Exchange) async throws {}

    func perform(_ exchange: Exchange, then: @escaping @Sendable (NextStep<Arrival>) -> Void) {
        if let conductor = parted?.conductor { return conductor.perform(exchange, then: then) }
        attempt.recorder.begins(exchange)
        let (run, hosts) = (attempt.run, attempt.tools.slots.hosts)
        var context = run.context(observedBy: attempt.recorder)
        context.continues = attempt.continued
        let (source, single) = state.withLock { ($0.sending?.file, $0.steps.strategy.parting) }
        let segment = single.flatMap { self.segment($0, exchange, then) }
        if segment != nil {
            run.counters.setTransferring(false)
            hosts.opened(run.host)
        }
        self.exchange.start(exchange, into: held.part, sending: source, as: segment, context: context) { outcome in
            self.attempt.invalidate(by: outcome, of: exchange)
            if let (conductor, first) = self.parted { return conductor.ended(first, at: run.host, outcome) }
            if segment != nil { hosts.closed(run.host) }
            then(self.next(after: outcome))
        }
        if let (conductor, first) = parted, let running = self.exchange.running { conductor.runs(first, running) }
    }

    private func next(after outcome: ExchangeOutcome) -> NextStep<Arrival> {
        var outcome = outcome
        // A redirect that came coded is not kept: its body would not be a file.
        if outcome.end.redirect != nil, outcome.head.flatMap({ $0.contentCoding }) != nil {
            outcome.isBodyTruncated = true
        }
        return state.withLock { [outcome] state in
            state.gathered = outcome.gathered
            state.wasAsked = true
            state.brought.insert(ByteRange(max(.zero, outcome.offset - outcome.received), outcome.offset))
            return state.steps.next(after: outcome)
        }
    }

    // MARK: Parts

    /// Returns the exchange as a segment; nil if one stream is enough, or if another exchange fetched the beginning,
    /// which no board would know.
    private func segment(
        _ single: HTTPDownload, _ exchange: Exchange, _ then: @escaping @Sendable (NextStep<Arrival>) -> Void
    ) -> Segment? {
        guard attempt.policy.connections.most > 1, exchange.startOffset == .zero else { return nil }
        let bound = SegmentBound(ByteRange(.zero, ByteCount(.max)))
        return Segment(bound: bound, board: self.conductor(single, exchange, bound, then).board) { head, acceptance in
            if let (conductor, first) = self.parted { conductor.accepted(first, head, acceptance) }
        }
    }

    /// Hands the exchange over once, on the reactor's thread, before the first byte is stored.
    private func conductor(
        _ single: HTTPDownload, _ exchange: Exchange, _ bound: SegmentBound,
        _ then: @escaping @Sendable (NextStep<Arrival>) -> Void
    ) -> SegmentConductor {
        if let conductor = parted?.conductor { return conductor }
        let machine = SegmentedDownload(single, inquiry.request, inquiry.others, attempt.policy.connections)
        let conductor = SegmentConductor(machine, attempt, held)
        guard let first = conductor.adopt(exchange, bound, then: then) else { return conductor }
        state.withLock { $0.parted = (conductor, first) }
        if self.exchange.isCancelled { conductor.cancel() }
        if let running = self.exchange.running { conductor.runs(first, running) }
        return conductor
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
        try await attempt.restart(held.part, because: cause, keeping: upload)
    }

    func stopped() async throws {
        guard let unstored = state.withLock({ $0.steps.unstored }) else { return }
        try await attempt.tools.keep(unstored, of: attempt.record.id)
    }

    func error(of failure: AttemptFailure) -> any Error {
        guard let unstored = state.withLock({ $0.steps.unstored }) else { return failure }
        var notes = PendingNotes(record: attempt.record, time: nil)
        notes.add(unstored)
        return AttemptEnding.failed(failure, notes)
    }

    func cancel() {
        exchange.cancel()
        parted?.conductor.cancel()
    }
}
