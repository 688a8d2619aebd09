import TransferModel

/// A download over HTTP of which several parts may be fetched side by side: which exchanges run, and what their ends
/// mean for the whole. Steps a `SegmentPlan`; everything that needs one stream only is left to `HTTPDownload`.
///
/// The first exchange is an ordinary request. Once its answer says length and version, it becomes the segment whose end
/// moves down as others open; nothing is asked that a small file would have to wait for.
package struct SegmentedDownload: Sendable {
    package enum Effect: Sendable {
        case run(SegmentID, Exchange, ByteRange)
        case abort(SegmentID)
        /// Nothing runs any more; the step is one of `HTTPDownload`.
        case conclude(Step)
    }

    /// Why everything is being stopped.
    private enum Closing: Sendable {
        case restart(TransferError, ExchangeOutcome)
        case failure(AttemptFailure)
    }

    /// Restarts that parts of other versions may cause before the attempt goes on over one connection.
    static let restartLimit = 2

    private var single: HTTPDownload
    private let policy: ConnectionPolicy
    private let checkpoint: Checkpoint?
    private let now: Timestamp
    package private(set) var plan: SegmentPlan?
    /// The version that all parts must be of.
    private var version: HeldBytes?
    /// Parts are asked for with If-Range; without, where the server answers that with everything.
    private var isConditional = true
    private var givesParts = true
    private var partRestarts = 0
    private var nextID: SegmentID = 0
    private var head: ResponseHead?
    private var trailers: [HeaderField] = []
    private var closing: Closing?
    private var hasProgressed = false

    init(_ single: HTTPDownload, _ request: StrategyRequest, _ policy: ConnectionPolicy) {
        self.single = single
        self.policy = policy
        checkpoint = request.checkpoint
        now = request.now
    }

    // MARK: Beginning

    package mutating func begin(at now: Int64, _ ends: some SegmentEnds) -> [Effect] {
        guard let checkpoint, !checkpoint.ranges.isEmpty, let version = single.version(of: checkpoint),
            let total = version.total
        else { return take(single.next(after: nil)) }
        self.version = version
        let plan = SegmentPlan(total: total, held: ByteRangeSet(checkpoint), policy: policy, at: now)
        self.plan = plan
        if plan.isComplete { return [.conclude(.finished(arrival(total)))] }
        return open(ends)
    }

    /// Begins with this exchange, alone: what was held is dropped, or was never there.
    package mutating func lead(_ exchange: Exchange) -> [Effect] {
        defer { nextID += 1 }
        return [.run(nextID, exchange, ByteRange(exchange.startOffset, ByteCount(.max)))]
    }

    private mutating func take(_ step: Step) -> [Effect] {
        switch step {
        case .run(let exchange): lead(exchange)
        case .finished, .failed, .restart, .store, .uploaded: [.conclude(step)]
        }
    }

    // MARK: What happens

    /// The head of a running exchange was accepted.
    package mutating func accepted(
        _ id: SegmentID, _ head: ResponseHead, _ acceptance: Acceptance, at now: Int64, _ ends: some SegmentEnds
    ) -> [Effect] {
        guard closing == nil else { return [] }
        if plan != nil {
            self.head = self.head ?? head
            plan?.accepted(at: now)
            return []
        }
        guard maySegment, let version = single.version(of: head, acceptance), let total = version.total,
            total - acceptance.offset >= SegmentPlan.largestPiece + SegmentPlan.largestPiece, offersParts(head)
        else { return [] }
        self.head = head
        self.version = version
        single.progress = acceptance
        let held = ByteRangeSet([ByteRange(.zero, acceptance.offset)])
        plan = SegmentPlan(total: total, held: held, policy: policy, firstID: nextID, at: now)
        plan?.adopt(id, from: acceptance.offset)
        return open(ends)
    }

    private var maySegment: Bool { policy.most > 1 && givesParts && partRestarts < Self.restartLimit }

    /// Nobody is asked for parts unbidden who does not say that it gives them.
    private func offersParts(_ head: ResponseHead) -> Bool {
        switch policy {
        case .fixed: true
        case .adaptive: head.status == 206 || head.values("accept-ranges").first?.trimmed.lowercased() == "bytes"
        }
    }

    /// An exchange ended; what it wrote is in its outcome.
    package mutating func ended(
        _ id: SegmentID, _ outcome: ExchangeOutcome, at now: Int64, _ ends: some SegmentEnds
    ) -> [Effect] {
        guard plan != nil else { return take(single.next(after: outcome)) }
        let start = plan?.running[id]?.range.start ?? outcome.offset
        plan?.ended(id, at: outcome.offset)
        if outcome.offset > start, outcome.received > 0 { hasProgressed = true }
        guard closing == nil else { return close() }
        if !outcome.trailers.isEmpty { trailers = outcome.trailers }
        let failure = judge(outcome, progressed: outcome.offset > start, at: now)
        if closing != nil { return close() }
        guard let plan else { return [] }
        if plan.isComplete { return [.conclude(.finished(arrival(plan.total)))] }
        guard plan.running.isEmpty else { return open(ends) }
        if let failure, !resolvesAgain(failure, outcome) {
            closing = .failure(failure)
            return close()
        }
        if !givesParts {
            closing = .restart(SegmentJudge.withoutParts, outcome)
            return close()
        }
        return open(ends)
    }

    /// Looks at what came; about once a second.
    /// - Parameter spare: further connections that the host may have.
    package mutating func sampled(spare: Int, at now: Int64, _ ends: some SegmentEnds) -> [Effect] {
        guard closing == nil, plan != nil else { return [] }
        plan?.sampled(spare: spare, at: now, ends)
        return open(ends)
    }

    // MARK: What it means

    /// Notes what an outcome means for the others; the failure, where it was one that leaves them alone.
    private mutating func judge(_ outcome: ExchangeOutcome, progressed: Bool, at now: Int64) -> AttemptFailure? {
        switch outcome.end {
        case .finished where progressed: return nil
        case .stopped(.restart(let error)): closing = .restart(error, outcome)
        case .stopped(.complete):
            closing = .restart(
                TransferError(.validatorChanged, "The server now gives no such range; the download restarts from 0."),
                outcome)
        case .overrun:
            closing = .restart(
                TransferError(.integrityLength, "The server sent more bytes than it announced; they were dropped."),
                outcome)
        case .stopped(.bareRange): isConditional = false
        case .stopped(.failure(SegmentJudge.withoutParts, _)):
            givesParts = false
            plan?.stopOpening()
        case .local, .aborted: closing = .failure(failure(outcome))
        case .finished, .stopped(.failure), .transport, .stalled, .refusedRedirect:
            let failure = failure(outcome)
            var delay: Seconds?
            if case .transient(let after) = failure.disposition { delay = after }
            plan?.failed(retryAfter: delay, at: now)
            return failure
        }
        return nil
    }

    private func failure(_ outcome: ExchangeOutcome) -> AttemptFailure {
        single.failure(outcome).with(progressed: hasProgressed, held: plan?.held.count ?? .zero)
    }

    /// A signed target that has expired: the original URL gives a new one.
    private mutating func resolvesAgain(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> Bool {
        guard single.mayResolveAgain(failure.error, outcome) else { return false }
        single.resolvedAgain = true
        return true
    }

    // MARK: Effects

    private mutating func open(_ ends: some SegmentEnds) -> [Effect] {
        guard let version, let opened = plan?.open(ends) else { return [] }
        return opened.map { segment in
            nextID = max(nextID, segment.id + 1)
            let exchange = single.exchange(for: segment.range, of: version, conditional: isConditional)
            return .run(segment.id, exchange, segment.range)
        }
    }

    /// Stops what runs; concludes once nothing does.
    private mutating func close() -> [Effect] {
        guard let closing, let plan else { return [] }
        guard plan.running.isEmpty else { return plan.running.keys.sorted().map { .abort($0) } }
        self.closing = nil
        switch closing {
        case .failure(let failure):
            return [.conclude(.failed(failure.with(progressed: hasProgressed, held: plan.held.count)))]
        case .restart(let error, let outcome):
            partRestarts += 1
            self.plan = nil
            version = nil
            head = nil
            isConditional = true
            return [.conclude(single.restart(error, outcome))]
        }
    }

    private func arrival(_ total: ByteCount) -> Arrival {
        single.arrival(head: head, trailers: trailers, total: total, proven: true)
    }
}
