import TransferModel

/// Number of a mirror within one attempt; 0 is the one that the attempt began with.
package typealias OriginID = Int

/// Decides which of several mirrors is asked for the next segment, and which mirrors are dropped: those that fail
/// permanently or repeatedly, or are far slower than another. Times are milliseconds on a monotonic clock.
package struct OriginRoster: Sendable {
    private struct Member: Sendable {
        var running = 0
        /// It said which version it has, so several segments may be requested from it at once.
        var isBound = false
        /// When it was asked for its version.
        var askedAt: Int64?
        /// Failures since its last success, with no segment of it running.
        var failures = 0
        /// Further connections that it refused.
        var refusals = 0
        /// Connections that it had accepted when it refused a further one.
        var ceiling = Int.max
        var restUntil: Int64 = .min
        var isLeft = false
        var failure: AttemptFailure?
        /// Bytes of segments that ended.
        var fetched = ByteCount.zero
        var watch: Watch?
        /// Bytes per millisecond on one connection, as last measured.
        var rate: Double?
    }

    /// A period in which a mirror's rate is measured, from when its first connection opens.
    private struct Watch: Sendable {
        var from: ByteCount
        /// Milliseconds, summed over its connections.
        var time: Int64 = 0
        var counted: Int64
    }

    private var members: [Member]
    /// Connections that the download may have.
    private let connections: Int

    /// Failures in a row after which a mirror is dropped.
    static let failureLimit = 3
    static let firstRest: Int64 = 1000
    /// How long connections are kept for a mirror that has not told its version yet.
    static let probeTime: Int64 = 2000
    static let watchTime: Int64 = 5000
    /// A mirror is dropped if its connections bring less than this fraction of what another's bring.
    static let tooSlow = 1.0 / 8
    /// Fewer bytes say nothing about a rate.
    static let leastSample = ByteCount.kibibytes(64)

    /// - Parameter connections: the most connections that the download may have.
    package init(connections: Int) {
        self.connections = connections
        members = [Member()]
    }

    // MARK: Whom to ask

    /// Mirrors that are not dropped.
    package var remaining: [OriginID] { members.indices.filter { !members[$0].isLeft } }
    package func isAlone(_ origin: OriginID) -> Bool { remaining.allSatisfy { $0 == origin } }
    /// Mirrors that were asked for something.
    package var asked: Set<OriginID> { Set(members.indices.filter { members[$0].askedAt != nil }) }
    /// What all failures so far mean together; nil if there were none.
    package var failure: AttemptFailure? { .combined(members.compactMap(\.failure)) }

    /// Adds a mirror.
    package mutating func add() { members.append(Member()) }

    /// Connections that may be opened now, to any mirror.
    package func room(at now: Int64) -> Int {
        remaining.reduce(0) { sum, origin in
            let (whole, isOver) = sum.addingReportingOverflow(room(of: origin, at: now))
            return isOver ? .max : whole
        }
    }

    /// The mirror to ask next: the one with the fewest connections, among those the fastest, among those the most
    /// preferred. nil if none accepts a connection now.
    package func pick(at now: Int64) -> OriginID? {
        remaining.filter { room(of: $0, at: now) > 0 }.min { one, other in
            let (first, second) = (members[one], members[other])
            if first.running != second.running { return first.running < second.running }
            return first.rate ?? .infinity > second.rate ?? .infinity
        }
    }

    /// The mirror to ask if no segment is running and none may be asked now.
    package var last: OriginID? { remaining.min { members[$0].restUntil < members[$1].restUntil } }

    private func room(of origin: OriginID, at now: Int64) -> Int {
        let (member, hasOthers) = (members[origin], remaining.count > 1)
        if hasOthers, now < member.restUntil { return 0 }
        guard member.isBound else { return member.running == 0 ? 1 : 0 }
        // A mirror without a substitute is asked as often as the plan wants.
        guard hasOthers else { return .max }
        let taken = member.refusals > 0 ? member.ceiling + 1 : .max
        let share = isProbing(at: now) ? (connections + remaining.count - 1) / remaining.count : .max
        return min(taken, share) == .max ? .max : max(0, min(taken, share) - member.running)
    }

    /// Whether some mirror is about to tell its version.
    private func isProbing(at now: Int64) -> Bool {
        members.contains { member in
            !member.isBound && !member.isLeft && member.failures == 0
                && now < (member.askedAt ?? now) + Self.probeTime
        }
    }

    // MARK: What happened

    package mutating func opened(_ origin: OriginID, at now: Int64) {
        members[origin].askedAt = members[origin].askedAt ?? now
        if members[origin].running == 0 {
            members[origin].watch = Watch(from: members[origin].fetched, counted: now)
        } else {
            tick(origin, at: now)
        }
        members[origin].running += 1
    }

    /// Its answer said which version it has.
    package mutating func bound(_ origin: OriginID) { members[origin].isBound = true }

    /// A segment ended, for whatever reason.
    package mutating func ended(_ origin: OriginID, _ count: ByteCount, at now: Int64) {
        members[origin].fetched += count
        tick(origin, at: now)
        members[origin].running = max(0, members[origin].running - 1)
        guard members[origin].running == 0, let watch = members[origin].watch else { return }
        if members[origin].fetched - watch.from >= Self.leastSample {
            measure(origin, members[origin].fetched, at: now)
        }
        members[origin].watch = nil
    }

    /// It delivered what it was asked for.
    package mutating func succeeded(_ origin: OriginID) {
        members[origin].failures = 0
        members[origin].failure = nil
    }

    /// A segment of this mirror, which has already `ended`, failed. If others of it are running, that only shows how
    /// many it accepts.
    package mutating func failed(_ origin: OriginID, _ failure: AttemptFailure, at now: Int64) {
        let isRefusal = members[origin].running > 0
        if isRefusal { members[origin].refusals += 1 } else { members[origin].failures += 1 }
        let count = isRefusal ? members[origin].refusals : members[origin].failures
        var delay = Self.firstRest << min(count - 1, 5)
        switch failure.disposition {
        case .permanent, .disk: return leave(origin, failure)
        case .transient(let after): delay = max(delay, after?.milliseconds ?? 0)
        case .network: break
        }
        guard members[origin].failures < Self.failureLimit else { return leave(origin, failure) }
        members[origin].failure = failure
        if isRefusal { members[origin].ceiling = members[origin].running }
        members[origin].restUntil = now + delay
    }

    /// Drops the mirror: nothing more is requested from it in this attempt.
    package mutating func leave(_ origin: OriginID, _ failure: AttemptFailure?) {
        members[origin].isLeft = true
        members[origin].failure = failure ?? members[origin].failure
    }

    /// Everything starts over: no version is known any more.
    package mutating func forgetVersions() { for origin in members.indices { members[origin].isBound = false } }

    // MARK: Who is too slow

    /// Examines the progress so far; called about once a second.
    /// - Parameter running: bytes that the running segments have fetched, by mirror.
    /// - Returns: mirrors that are dropped because they are far slower than another.
    package mutating func sampled(_ running: [OriginID: ByteCount], at now: Int64) -> [OriginID] {
        var watched: Set<OriginID> = []
        for origin in members.indices where members[origin].running > 0 {
            tick(origin, at: now)
            guard members[origin].watch.map({ $0.time >= Self.watchTime }) ?? false else { continue }
            measure(origin, members[origin].fetched + (running[origin] ?? .zero), at: now)
            watched.insert(origin)
        }
        guard let best = remaining.compactMap({ members[$0].rate }).max(), best > 0 else { return [] }
        let slow = remaining.filter { watched.contains($0) && (members[$0].rate ?? best) < best * Self.tooSlow }
        for origin in slow { leave(origin, nil) }
        return slow
    }

    private mutating func tick(_ origin: OriginID, at now: Int64) {
        guard let watch = members[origin].watch else { return }
        let running = Int64(members[origin].running)
        members[origin].watch?.time += running * (now - watch.counted)
        members[origin].watch?.counted = now
    }

    private mutating func measure(_ origin: OriginID, _ fetched: ByteCount, at now: Int64) {
        guard let watch = members[origin].watch else { return }
        members[origin].rate = Double((fetched - watch.from).rawValue) / Double(max(1, watch.time))
        members[origin].watch = Watch(from: fetched, counted: now)
    }
}
