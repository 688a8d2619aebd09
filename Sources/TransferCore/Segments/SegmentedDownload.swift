import TransferModel

/// A download over HTTP whose segments may be fetched at the same time: decides which exchanges run, and what their
/// ends mean for the whole. It drives a `SegmentPlan`. Everything that needs only one stream is left to `HTTPDownload`.
///
/// The first exchange is an ordinary request. Once its answer tells length and version, it becomes the segment whose
/// end moves down as others open. So a small file waits for nothing.
///
/// Under a digest of the whole file, segments come from several mirrors (`MirrorRoster`). Each mirror is bound to its
/// own version by its own strong validator, and must have the same length.
package struct SegmentedDownload: Sendable {
    package enum Effect: Sendable {
        case run(SegmentID, Exchange, ByteRange)
        case abort(SegmentID)
        /// Nothing runs any more; the step is one of `HTTPDownload`.
        case conclude(Step<Arrival>)
    }

    /// Why everything is being stopped.
    private enum Closing: Sendable {
        case restart(TransferError, ExchangeOutcome)
        case failure(AttemptFailure)
    }

    /// One mirror that segments are requested from.
    struct Source: Sendable {
        var download: HTTPDownload
        /// The version that all its segments must have.
        var version: HeldBytes?
        /// Segments are requested with If-Range; without it, if the server answers it with the whole file.
        var isConditional = true
    }

    /// Restarts that segments of other versions may cause before the attempt continues over one connection.
    static let restartLimit = 2

    /// The first is the one that the download began with.
    var sources: [Source]
    /// The mirror whose strategy represents the whole.
    var lead: MirrorID = 0
    var roster: MirrorRoster
    /// The mirror that each running segment is requested from.
    var mirrors: [SegmentID: MirrorID] = [:]
    /// The ranges that each mirror brought.
    package internal(set) var brought: [MirrorID: ByteRangeSet] = [:]
    /// Segments that are stopped because their mirror is dropped.
    private var leaving: Set<SegmentID> = []
    let others: OtherMirrors?
    /// The digests that the whole file must have, as far as they are known, by algorithm.
    var digests: [String: String] = [:]
    private let policy: ConnectionPolicy
    @BoxedOptional private(set) var checkpoint: Checkpoint?
    package internal(set) var plan: SegmentPlan?
    private var givesParts = true
    /// A request for a part was answered with one.
    private var hasGivenParts: Bool
    private var partRestarts = 0
    private var crumbs = Crumbs()
    private var nextID: SegmentID = 0
    var head: ResponseHead?
    private var trailers: [HeaderField] = []
    private var closing: Closing?
    private var hasProgressed = false

    package init(
        _ single: HTTPDownload, _ request: StrategyRequest, _ others: OtherMirrors?, _ policy: ConnectionPolicy
    ) {
        sources = [Source(download: single)]
        roster = MirrorRoster(connections: policy.most)
        self.others = others
        self.policy = policy
        checkpoint = request.checkpoint
        hasGivenParts = request.checkpoint?.ranges.isEmpty == false
    }

    // MARK: Beginning

    package mutating func begin(at now: Int64, _ ends: some SegmentEnds) -> [Effect] {
        guard let checkpoint, !checkpoint.ranges.isEmpty, let total = checkpoint.total else {
            return take(sources[lead].download.next(after: nil), at: now)
        }
        sources[lead].version = sources[lead].download.version(of: checkpoint)
        if sources[lead].version != nil { roster.bound(lead) }
        share(checkpoint.serverDigests)
        guard sources[lead].version != nil || sources.count > 1 || fillsGaps else {
            return take(sources[lead].download.next(after: nil), at: now)
        }
        let plan = SegmentPlan(total: total, held: ByteRangeSet(checkpoint), policy: policy, at: now)
        self.plan = plan
        if plan.isComplete { return [.conclude(.finished(arrival(total)))] }
        return open(at: now, ends)
    }

    /// Begins with only this exchange: held bytes are dropped, or there were none.
    package mutating func lead(_ exchange: Exchange, at now: Int64) -> [Effect] {
        defer { nextID += 1 }
        mirrors[nextID] = lead
        roster.opened(lead, at: now)
        return [.run(nextID, exchange, ByteRange(exchange.startOffset, ByteCount(.max)))]
    }

    private mutating func take(_ step: Step<Arrival>, at now: Int64) -> [Effect] {
        switch step {
        case .run(let exchange): lead(exchange, at: now)
        case .finished, .failed, .restart, .store: [.conclude(step)]
        }
    }

    // MARK: What happens

    /// The header of a running exchange was accepted.
    package mutating func accepted(
        _ id: SegmentID, _ head: ResponseHead, _ acceptance: Acceptance, at now: Int64, _ ends: some SegmentEnds
    ) -> [Effect] {
        guard closing == nil, let mirror = mirrors[id] else { return [] }
        if plan != nil {
            hasGivenParts = true
            self.head = self.head ?? head
            plan?.accepted(at: now)
            guard sources[mirror].version == nil else { return [] }
            sources[mirror].version = sources[mirror].download.version(of: head, acceptance)
            roster.bound(mirror)
            return open(at: now, ends)
        }
        guard maySegment, let version = sources[mirror].download.version(of: head, acceptance),
            let total = version.total,
            total - acceptance.offset >= SegmentPlan.largestPiece + SegmentPlan.largestPiece, offersParts(head)
        else { return [] }
        self.head = head
        sources[mirror].version = version
        sources[mirror].download.progress = acceptance
        roster.bound(mirror)
        share(acceptance.serverDigests, answer: head)
        let held = ByteRangeSet([ByteRange(.zero, acceptance.offset)])
        plan = SegmentPlan(total: total, held: held, policy: policy, firstID: nextID, at: now)
        plan?.adopt(id, from: acceptance.offset)
        return open(at: now, ends)
    }

    /// Ranges that the only mirror cannot deliver are requested from another one later.
    private var fillsGaps: Bool { others?.fillsGaps == true }

    private var maySegment: Bool { policy.most > 1 && givesParts && partRestarts < Self.restartLimit }

    /// By default, only servers that say they support ranges are asked for segments.
    private func offersParts(_ head: ResponseHead) -> Bool {
        switch policy {
        case .fixed: true
        case .adaptive: head.status == 206 || head.values("accept-ranges").first?.trimmed.lowercased() == "bytes"
        }
    }

    /// An exchange ended; its outcome says what it wrote.
    package mutating func ended(
        _ id: SegmentID, _ outcome: ExchangeOutcome, at now: Int64, _ ends: some SegmentEnds
    ) -> [Effect] {
        let mirror = mirrors.removeValue(forKey: id) ?? lead
        roster.ended(mirror, outcome.received, at: now)
        guard plan != nil else {
            let start = max(.zero, outcome.offset - outcome.received)
            brought[mirror, default: ByteRangeSet()].insert(ByteRange(start, outcome.offset))
            return take(sources[mirror].download.next(after: outcome), at: now)
        }
        let range = plan?.running[id]?.range ?? ByteRange(outcome.offset, outcome.offset)
        let start = range.start
        plan?.ended(id, at: outcome.offset)
        if outcome.offset > start, outcome.received > 0 {
            hasProgressed = true
            brought[mirror, default: ByteRangeSet()].insert(ByteRange(start, outcome.offset))
        }
        guard closing == nil else { return close() }
        if !outcome.trailers.isEmpty { trailers = outcome.trailers }
        let wasLeft = leaving.remove(id) != nil
        let failure = wasLeft ? nil : judge(outcome, of: mirror, asked: range, at: now)
        if closing != nil { return close() }
        guard let plan else { return [] }
        if plan.isComplete { return [.conclude(.finished(arrival(plan.total)))] }
        guard plan.running.isEmpty else { return open(at: now, ends) }
        if let failure, !resolvesAgain(failure, outcome, of: mirror),
            roster.isAlone(mirror) || roster.room(at: now) == 0
        {
            var cause = roster.failure ?? failure
            if roster.isAlone(mirror) {
                cause.shortEnd = sources[mirror].download.shortEnd(
                    outcome, asked: range, held: plan.held, of: plan.total)
            }
            closing = .failure(cause)
            return close()
        }
        if !givesParts {
            closing = .restart(SegmentJudge.withoutParts, outcome)
            return close()
        }
        return open(at: now, ends)
    }

    /// Examines the progress so far; called about once a second.
    /// - Parameter spare: further connections that the hosts may have.
    package mutating func sampled(spare: Int, at now: Int64, _ ends: some SegmentEnds) -> [Effect] {
        guard closing == nil, let running = plan?.running else { return [] }
        plan?.sampled(spare: spare, at: now, ends)
        var fetched: [MirrorID: ByteCount] = [:]
        for (id, segment) in running {
            guard let mirror = mirrors[id] else { continue }
            fetched[mirror, default: .zero] += max(.zero, ends.position(of: id) - segment.range.start)
        }
        let slow = roster.sampled(fetched, at: now)
        let stopped = mirrors.filter { slow.contains($0.value) }.keys.sorted()
        leaving.formUnion(stopped)
        return stopped.map { .abort($0) } + open(at: now, ends)
    }

    // MARK: What it means

    /// Notes what an outcome means for the other segments. Returns the failure, if it was one that lets them continue.
    private mutating func judge(
        _ outcome: ExchangeOutcome, of mirror: MirrorID, asked range: ByteRange, at now: Int64
    ) -> AttemptFailure? {
        switch outcome.end {
        case .finished where outcome.offset > range.start:
            if outcome.offset < range.end, crumbs.isTooMany(after: outcome.received) {
                closing = .failure(Crumbs.failure)
            }
            roster.succeeded(mirror)
        case .stopped(.restart(let error)): return changed(mirror, error, outcome)
        case .stopped(.complete): return changed(mirror, .changed("no such range"), outcome)
        case .overrun: return changed(mirror, .overrun, outcome)
        case .stopped(.bareRange): sources[mirror].isConditional = false
        case .stopped(.failure(let error, _))
        where error == SegmentJudge.withoutParts || !hasGivenParts && error.isRefusal:
            let failure = failure(outcome, of: mirror)
            guard roster.isAlone(mirror) else {
                roster.leave(mirror, failure)
                return failure
            }
            guard !fillsGaps else {
                closing = .failure(failure)
                return nil
            }
            givesParts = false
            plan?.stopOpening()
        case .local, .aborted: closing = .failure(failure(outcome, of: mirror))
        case .finished, .stopped(.failure), .stopped(.redirect), .transport, .stalled, .refusedRedirect:
            return failed(mirror, failure(outcome, of: mirror), at: now)
        }
        return nil
    }

    private mutating func failed(_ mirror: MirrorID, _ failure: AttemptFailure, at now: Int64) -> AttemptFailure {
        guard roster.isAlone(mirror) else {
            roster.failed(mirror, failure, at: now)
            return failure
        }
        var delay: Seconds?
        if case .transient(let after) = failure.disposition { delay = after }
        plan?.failed(retryAfter: delay, at: now)
        return failure
    }

    /// The mirror has another version now. If there are other mirrors, it is dropped, and the digest proves the bytes
    /// that it brought.
    private mutating func changed(
        _ mirror: MirrorID, _ error: TransferError, _ outcome: ExchangeOutcome
    ) -> AttemptFailure? {
        let failure = AttemptFailure.transient(error)
        guard roster.isAlone(mirror) else {
            roster.leave(mirror, failure)
            return failure
        }
        guard !fillsGaps else {
            closing = .failure(failure)
            return nil
        }
        lead = mirror
        closing = .restart(error, outcome)
        return nil
    }

    private func failure(_ outcome: ExchangeOutcome, of mirror: MirrorID) -> AttemptFailure {
        sources[mirror].download.failure(outcome).with(progressed: hasProgressed, held: plan?.held.count ?? .zero)
    }

    /// A signed target has expired: the original URL leads to a new one.
    private mutating func resolvesAgain(
        _ failure: AttemptFailure, _ outcome: ExchangeOutcome, of mirror: MirrorID
    ) -> Bool {
        guard sources[mirror].download.mayResolveAgain(failure.error, outcome) else { return false }
        sources[mirror].download.resolvedAgain = true
        return true
    }

    // MARK: Effects

    private mutating func open(at now: Int64, _ ends: some SegmentEnds) -> [Effect] {
        var room = roster.room(at: now)
        // At least one segment must run.
        if plan?.running.isEmpty == true { room = max(1, room) }
        guard let total = plan?.total, let opened = plan?.open(ends, room: room) else { return [] }
        return opened.map { segment in
            nextID = max(nextID, segment.id + 1)
            let mirror = roster.pick(at: now) ?? roster.last ?? lead
            roster.opened(mirror, at: now)
            mirrors[segment.id] = mirror
            return .run(segment.id, exchange(for: segment.range, of: total, from: mirror), segment.range)
        }
    }

    /// Stops what runs; concludes once nothing runs.
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
            forgetVersions()
            return [.conclude(sources[lead].download.restart(error, outcome))]
        }
    }

    private func arrival(_ total: ByteCount) -> Arrival {
        var arrival = sources[lead].download.arrival(head: head, trailers: trailers, total: total, proven: true)
        arrival.serverDigests.merge(DigestFields.named(checkpoint?.serverDigests ?? [:])) { known, _ in known }
        return arrival
    }
}

// MARK: - Mirrors

/// The mirrors that segments come from.
extension SegmentedDownload {
    /// Adds the other mirrors if a digest will prove the whole.
    /// - Parameters:
    ///   - serverDigests: the server's digests of the whole file.
    ///   - answer: may name further mirrors (RFC 6249).
    mutating func share(_ serverDigests: [String: String], answer: ResponseHead? = nil) {
        let strong = serverDigests.filter { OtherMirrors.strongDigests.contains($0.key) }
        guard let others, others.hasDigest || !strong.isEmpty else { return }
        digests = strong
        if let checksum = others.base.spec.checksum {
            digests = [checksum.algorithm.rawValue: checksum.value.lowercased()]
        }
        guard !others.mustNotMix else { return }
        var mirrors = Mirrors(others.base.spec)
        if let answer { mirrors.learn(from: answer.headers, at: answer.url) }
        for place in others.places + mirrors.places {
            guard !sources.contains(where: { $0.download.mirror == place.name }),
                let download = others.download(at: place)
            else { continue }
            sources.append(Source(download: download))
            roster.add()
        }
    }

    /// Bytes fetched from now on may belong to another version.
    mutating func forgetVersions() {
        for mirror in sources.indices {
            sources[mirror].version = nil
            sources[mirror].isConditional = true
        }
        roster.forgetVersions()
        brought = [:]
        head = nil
    }

    func exchange(for range: ByteRange, of total: ByteCount, from mirror: MirrorID) -> Exchange {
        let source = sources[mirror]
        guard let version = source.version else {
            return source.download.exchange(for: range, total: total, digests: digests)
        }
        return source.download.exchange(for: range, of: version, conditional: source.isConditional)
    }

    /// Mirrors that were asked for something, as checkpoints name them.
    package var asked: Set<String?> { Set(roster.asked.map { sources[$0].download.mirror }) }

    /// Which bytes came from which mirror, as far as this attempt knows.
    package var bringers: [String?: ByteRangeSet] {
        Dictionary(uniqueKeysWithValues: brought.map { (sources[$0.key].download.mirror, $0.value) })
    }

    /// Scheme, name and port of the server that a running segment is requested from.
    package func host(of segment: SegmentID) -> String? { mirrors[segment].map { sources[$0].download.host } }

    /// The URL that a running segment is requested from, without user info; nil if there is only one mirror.
    package func url(of segment: SegmentID) -> String? {
        sources.count > 1 ? mirrors[segment].map { sources[$0].download.requestURL } : nil
    }

    /// Length and version are known, so that further segments may be requested.
    package var isParted: Bool { plan != nil }

    /// The hosts of all mirrors that are not dropped.
    package var hosts: Set<String> { Set(roster.remaining.map { sources[$0].download.host }) }
}
