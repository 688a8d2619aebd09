/// When the node claims, and how much (contract, section 3, "Idle" and `poll`; section 4, "disk of a node full").
struct ClaimPace: Hashable, Sendable {
    private static let longestHerdDelay = Duration.milliseconds(250)
    private static let afterEmpty = Duration.milliseconds(500)
    /// A node without jobs sends one statement in this time.
    private static let idle = Duration.seconds(5)
    /// `dld.claim` locks what it takes.
    private static let most = 100

    /// The claim that has no answer yet.
    private(set) var outstanding: Int?
    /// Due jobs were left: claim as soon as there is room.
    private var hungry = true
    /// When a notification wakes it.
    private var wake: Duration?
    private var lastAnswer: Duration?
    /// The random part of the next poll, 0..<1.
    private var jitter = 0.0
    private var notBefore = Duration.zero
    /// Until a job is done, after a disk was full: when the next job may come.
    private var slowUntil: Duration?

    /// When the next claim may be sent; in the past: now.
    func moment(isIdle: Bool, poll: Duration) -> Duration {
        let least = isIdle ? max(poll, Self.idle) : poll
        let regular = hungry ? .zero : (lastAnswer ?? .zero) + least * (1 + jitter / 5)
        return max(min(regular, wake ?? regular), notBefore, slowUntil ?? .zero)
    }

    /// Begins a claim.
    /// - Returns: how many jobs to ask for.
    mutating func begin(room: Int) -> Int {
        let count = slowUntil == nil ? min(room, Self.most) : 1
        (outstanding, hungry, wake) = (count, false, nil)
        return count
    }

    mutating func answered(_ count: Int, at now: Duration, random: Double, handBackAfter: Duration) {
        hungry = outstanding.map { count >= $0 && count > 0 } ?? false
        (outstanding, lastAnswer, jitter) = (nil, now, random)
        if count == 0 { notBefore = now + Self.afterEmpty }
        if count > 0, slowUntil != nil { slowUntil = now + handBackAfter }
    }

    /// A pool has new jobs.
    mutating func notified(at now: Duration, random: Double) {
        let moment = now + Self.longestHerdDelay * random
        wake = min(wake ?? moment, moment)
    }

    /// The database is back, or a claim got no answer: the next one is due.
    mutating func restart() { (outstanding, hungry) = (nil, true) }

    /// One job at a time, and the next one only after this moment.
    mutating func diskFull(until moment: Duration) { slowUntil = max(slowUntil ?? .zero, moment) }

    mutating func done() { slowUntil = nil }
}
