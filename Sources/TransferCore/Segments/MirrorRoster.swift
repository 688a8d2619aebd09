import TransferModel

/// Number of a mirror within one attempt; 0 is the one that the attempt began with.
package typealias MirrorID = Int

/// Decides which of several mirrors is asked for the next segment, and which mirrors are dropped: those that fail
/// permanently or repeatedly, or are far slower than another. Times are milliseconds on a monotonic clock.
package struct MirrorRoster: Sendable {
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
    package var remaining: [MirrorID] { members.indices.filter { !members[$0].isLeft } }
    package func isAlone(_ mirror: MirrorID) -> Bool { remaining.allSatisfy { $0 == mirror } }
    /// Mirrors that were asked for something.
    package var asked: Set<MirrorID> { Set(members.indices.filter { members[$0].askedAt != nil }) }
    /// What all failures so far mean together; nil if there were none.
    package var failure: AttemptFailure? { .combined(members.compactMap(\.failure)) }

    /// Adds a mirror.
    package mutating func add() { members.append(Member()) }

    /// Connections that may be opened now, to any mirror.
    package func room(at now: Int64) -> Int {
        remaining.reduce(0) { sum, mirror in
            let (whole, isOver) = sum.addingReportingOverflow(room(of: mirror, at: now))
            return isOver ? .max : whole
        }
    }

    /// The mirror to ask next: the one with the fewest connections, among those the fastest, among those the most
    /// preferred. nil if none accepts a connection now.
    package func pick(at now: Int64) -> MirrorID? {
        remaining.filter { room(of: $0, at: now) > 0 }.min { one, other in
            let (first, second) = (members[one], members[other])
            if first.running != second.running { return first.running < second.running }
            return first.rate ?? .infinity > second.rate ?? .infinity
        }
    }

    /// The mirror to ask if no segment is running and none may be asked now.
    package var last: MirrorID? { remaining.min { members[$0].restUntil < members[$1].restUntil } }

    private func room(of mirror: MirrorID, at now: Int64) -> Int {
        let (member, hasOthers) = (members[mirror], remaining.count > 1)
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

    package mutating func opened(_ mirror: MirrorID, at now: Int64) {
        members[mirror].askedAt = members[mirror].askedAt ?? now
        if members[mirror].running == 0 {
            members[mirror].watch = Watch(from: members[mirror].fetched, counted: now)
        } else {
            tick(mirror, at: now)
        }
        members[mirror].running += 1
    }

    /// Its answer said which version it has.
    package mutating func bound(_ mirror: MirrorID) { members[mirror].isBound = true }

    /// A segment ended, for whatever reason.
    package mutating func ended(_ mirror: MirrorID, _ count: ByteCount, at now: Int64) {
        members[mirror].fetched += count
        tick(mirror, at: now)
        members[mirror].running = max(0, members[mirror].running - 1)
        guard members[mirror].running == 0, let watch = members[mirror].watch else { return }
        if members[mirror].fetched - watch.from >= Self.leastSample {
            measure(mirror, members[mirror].fetched, at: now)
        }
        members[mirror].watch = nil
    }

    /// It delivered what it was asked for.
    package mutating func succeeded(_ mirror: MirrorID) {
        members[mirror].failures = 0
        members[mirror].failure = nil
    }

    /// A segment of this mirror, which has already `ended`, failed. If others of it are running, that only shows how
    /// many it accepts.
    package mutating func failed(_ mirror: MirrorID, _ failure: AttemptFailure, at now: Int64) {
        let isRefusal = members[mirror].running > 0
        if isRefusal { members[mirror].refusals += 1 } else { members[mirror].failures += 1 }
        let count = isRefusal ? members[mirror].refusals : members[mirror].failures
        var delay = Self.firstRest << min(count - 1, 5)
        switch failure.disposition {
        case .permanent, .disk: return leave(mirror, failure)
        case .transient(let after): delay = max(delay, after?.milliseconds ?? 0)
        case .network: break
        }
        guard members[mirror].failures < Self.failureLimit else { return leave(mirror, failure) }
        members[mirror].failure = failure
        if isRefusal { members[mirror].ceiling = members[mirror].running }
        members[mirror].restUntil = now + delay
    }

    /// Drops the mirror: nothing more is requested from it in this attempt.
    package mutating func leave(_ mirror: MirrorID, _ failure: AttemptFailure?) {
        members[mirror].isLeft = true
        members[mirror].failure = failure ?? members[mirror].failure
    }

    /// Everything starts over: no version is known any more.
    package mutating func forgetVersions() { for mirror in members.indices { members[mirror].isBound = false } }

    // MARK: Who is too slow

    /// Examines the progress so far; called about once a second.
    /// - Parameter running: bytes that the running segments have fetched, by mirror.
    /// - Returns: mirrors that are dropped because they are far slower than another.
    package mutating func sampled(_ running: [MirrorID: ByteCount], at now: Int64) -> [MirrorID] {
        var watched: Set<MirrorID> = []
        for mirror in members.indices where members[mirror].running > 0 {
            tick(mirror, at: now)
            guard members[mirror].watch.map({ $0.time >= Self.watchTime }) ?? false else { continue }
            measure(mirror, members[mirror].fetched + (running[mirror] ?? .zero), at: now)
            watched.insert(mirror)
        }
        guard let best = remaining.compactMap({ members[$0].rate }).max(), best > 0 else { return [] }
        let slow = remaining.filter { watched.contains($0) && (members[$0].rate ?? best) < best * Self.tooSlow }
        for mirror in slow { leave(mirror, nil) }
        return slow
    }

    private mutating func tick(_ mirror: MirrorID, at now: Int64) {
        guard let watch = members[mirror].watch else { return }
        let running = Int64(members[mirror].running)
        members[mirror].watch?.time += running * (now - watch.counted)
        members[mirror].watch?.counted = now
    }

    private mutating func measure(_ mirror: MirrorID, _ fetched: ByteCount, at now: Int64) {
        guard let watch = members[mirror].watch else { return }
        members[mirror].rate = Double((fetched - watch.from).rawValue) / Double(max(1, watch.time))
        members[mirror].watch = Watch(from: fetched, counted: now)
    }
}
