/// When the node renews its leases (contract, section 3, `renew` and `progressInterval`).
struct RenewalPace: Hashable, Sendable {
    /// Between two renewals that no notification asked for.
    private static let least = Duration.seconds(1)
    /// Anybody who may connect can send notifications.
    private static let leastWanted = Duration.milliseconds(250)

    private(set) var isOutstanding = false
    /// A notification, or a comparison with the table, asks for one.
    var isWanted = false
    private var last: Duration?
    private var retryAt: Duration?

    /// When the next one is due, if none is under way: in time for the oldest lease, or for progress that the table does
    /// not have.
    func moment(of held: [Work], _ settings: NodeSettings) -> Duration {
        guard !isWanted else { return max(retryAt ?? .zero, last.map { $0 + Self.leastWanted } ?? .zero) }
        let last = last ?? .zero
        var moment = held.map { $0.certain.map { $0 + settings.renew } ?? .zero }.min() ?? last + settings.renew
        if held.contains(where: { $0.progress != $0.storedProgress }) {
            moment = min(moment, last + settings.progressInterval)
        }
        return max(moment, last + Self.least, retryAt ?? .zero)
    }

    mutating func begin(at now: Duration) { self = Self(isOutstanding: true, isWanted: false, last: now) }

    mutating func answered() { (isOutstanding, retryAt) = (false, nil) }

    mutating func failed(retryAt moment: Duration) { (isOutstanding, retryAt) = (false, moment) }

    /// The database is back.
    mutating func restart() { retryAt = nil }
}

/// `dld.leases` and what it must not contradict.
struct Comparison: Sendable {
    var isWanted = false
    var isOutstanding = false
    var retryAt: Duration?
    /// It was answered once since the start.
    var isKnown = false
    /// Jobs that ended while it was under way.
    var settled: Set<JobKey> = []
}

/// `task.list`: now and then, and if an answer leaves something open.
struct Listing: Sendable {
    var isWanted = false
    var isOutstanding = false
    var last = Duration.zero
}
