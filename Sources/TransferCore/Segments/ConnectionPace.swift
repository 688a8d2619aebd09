import TransferModel

/// Decides how many connections a download may have open now: as many as requested, or as many as pay, but never more
/// than the server accepts. Times are milliseconds on a monotonic clock.
package struct ConnectionPace: Sendable {
    /// The rate with the previous number of connections, and since when the present number is being watched.
    private enum Growth: Sendable {
        /// The rate has not settled yet.
        case settling(since: Int64, before: Double?)
        case measuring(since: Int64, from: ByteCount, before: Double?)
        case over
    }

    private let most: Int
    /// Connections wanted.
    private(set) var target: Int
    /// Connections that the server accepts; below `target` after a refusal.
    private(set) var ceiling: Int
    private(set) var isStopped = false
    private var growth: Growth
    private var previous = 1
    private var reopenAt: Int64?
    private var backOff = Self.firstBackOff
    private var failures = 0

    static let firstBackOff: Int64 = 1000
    static let longestBackOff: Int64 = 60_000
    /// After this many refusals and broken connections without a working one in between, no further connection is
    /// tried.
    static let failureLimit = 20
    static let settleTime: Int64 = 1000
    static let measureTime: Int64 = 2000
    /// Twice the connections must bring at least this factor more, or they do not justify the load on the server.
    static let worthwhile = 1.4
    /// At the present rate, at least this much time must remain for another connection to pay, in milliseconds.
    static let shortestRest = 8000.0

    package init(_ policy: ConnectionPolicy, at now: Int64) {
        most = policy.most
        switch policy {
        case .fixed:
            target = most
            growth = .over
        case .adaptive:
            target = 1
            growth = .settling(since: now, before: nil)
        }
        ceiling = most
    }

    /// Connections that may be open at the same time; `running` are open.
    func allowed(_ running: Int) -> Int { isStopped ? min(running, target) : min(target, ceiling) }

    /// The server gives no ranges: running connections continue, and no further one opens.
    mutating func stop() { isStopped = true }

    /// A connection was refused or broke; `running` others continue.
    mutating func failed(_ running: Int, retryAfter: Seconds?, at now: Int64) {
        failures += 1
        ceiling = max(1, running)
        growth = .over
        reopenAt = failures < Self.failureLimit ? now + max(retryAfter?.milliseconds ?? 0, backOff) : nil
        backOff = min(backOff * 2, Self.longestBackOff)
    }

    /// A connection delivered what it was asked for.
    mutating func accepted(at now: Int64) {
        guard failures > 0, ceiling < target else { return }
        failures = 0
        backOff = Self.firstBackOff
        reopenAt = now
    }

    /// Examines the progress so far; called about once a second.
    /// - Parameters:
    ///   - received: bytes held, including those of running segments.
    ///   - rest: bytes still to fetch.
    ///   - spare: further connections that the host may have.
    mutating func sampled(received: ByteCount, rest: ByteCount, running: Int, spare: Int, at now: Int64) {
        if let due = reopenAt, now >= due, ceiling < target {
            ceiling = min(target, max(ceiling, running) + 1)
            reopenAt = now + backOff
        }
        switch growth {
        case .over: break
        case .settling(let since, let before):
            if now - since >= Self.settleTime { growth = .measuring(since: now, from: received, before: before) }
        case .measuring(let since, let from, let before):
            guard now - since >= Self.measureTime else { return }
            let rate = Double((received - from).rawValue) / Double(now - since)
            grow(rate: rate, before: before, rest: rest, spare: spare, at: now)
        }
    }

    /// - Parameter rate: bytes per millisecond with the present number of connections.
    private mutating func grow(rate: Double, before: Double?, rest: ByteCount, spare: Int, at now: Int64) {
        if let before, rate < before * Self.worthwhile {
            target = previous
            growth = .over
            return
        }
        guard target < most else {
            growth = .over
            return
        }
        let pays = rate > 0 && Double(rest.rawValue) / rate >= Self.shortestRest
        guard pays, spare > 0 else {
            growth = .settling(since: now, before: nil)
            return
        }
        previous = target
        target = min(most, target + min(target, spare))
        growth = .settling(since: now, before: rate)
    }
}

/// How many connections one download may open.
package enum ConnectionPolicy: Sendable, Hashable {
    /// Requested: this many at once, as soon as the server has told the file's length.
    case fixed(Int)
    /// Not requested: one, and further ones up to this number while each makes the download faster.
    case adaptive(atMost: Int)

    package static let limit = Bounds.connections
    package static let adaptiveLimit = 4
    package static let automatic = ConnectionPolicy.adaptive(atMost: adaptiveLimit)

    /// The most connections.
    package var most: Int {
        switch self {
        case .fixed(let count), .adaptive(let count): min(max(1, count), Self.limit)
        }
    }
}
