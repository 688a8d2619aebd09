import TransferModel

/// How many tasks may run: in all, for each host, owner and session, and for each host within a session.
package struct SlotLimits: Sendable, Hashable {
    package var global: Int
    package var perHost: Int
    /// nil = no limit.
    package var perOwner: Int?
    /// Sessions without an entry have no limit of their own.
    package var perSession: [SessionKey: Int]
    package var perHostOfSession: [SessionKey: Int]

    package init(
        global: Int, perHost: Int, perOwner: Int? = nil, perSession: [SessionKey: Int] = [:],
        perHostOfSession: [SessionKey: Int] = [:]
    ) {
        self.global = global
        self.perHost = perHost
        self.perOwner = perOwner
        self.perSession = perSession
        self.perHostOfSession = perHostOfSession
    }
}

/// The limit that keeps a task from a slot.
package enum SlotLimit: Sendable, Hashable, CaseIterable {
    case global, owner, session, host
}

/// Running tasks, counted by everything that has a limit.
struct SlotUse {
    /// A host as one owner or session uses it.
    private struct HostUse<User: Hashable>: Hashable {
        var user: User
        var host: String
    }

    private(set) var all = 0
    private var hosts: [String: Int] = [:]
    private var owners: [UserID: Int] = [:]
    private var sessions: [SessionKey: Int] = [:]
    private var hostsOfOwners: [HostUse<UserID>: Int] = [:]
    private var hostsOfSessions: [HostUse<SessionKey>: Int] = [:]
    private let limits: SlotLimits

    init(limits: SlotLimits) { self.limits = limits }

    mutating func add(_ task: Scheduler.Candidate) { count(task, 1) }
    mutating func remove(_ task: Scheduler.Candidate) { count(task, -1) }
    mutating func removeAll() { self = SlotUse(limits: limits) }

    /// Adjacent tasks of one session, host and hold are counted together: each count costs five lookups.
    mutating func add(_ tasks: [Scheduler.Candidate]) {
        var first = tasks.startIndex
        while first < tasks.endIndex {
            let task = tasks[first]
            let end =
                tasks[first...].firstIndex {
                    $0.host != task.host || $0.session != task.session || $0.hold != task.hold
                } ?? tasks.endIndex
            count(task, end - first)
            first = end
        }
    }

    /// Whether no limit is exceeded.
    var isWithinLimits: Bool {
        all <= limits.global && hosts.values.allSatisfy { $0 <= limits.perHost }
            && owners.values.allSatisfy { $0 <= limits.perOwner ?? .max }
            && sessions.allSatisfy { $1 <= limits.perSession[$0] ?? .max }
            && hostsOfSessions.allSatisfy { $1 <= limits.perHostOfSession[$0.user] ?? .max }
    }

    private mutating func count(_ task: Scheduler.Candidate, _ step: Int) {
        let (session, host) = (task.session, task.host)
        sessions[session, default: 0] += step
        if task.hold != .left {
            all += step
            hosts[host, default: 0] += step
            owners[session.owner, default: 0] += step
            hostsOfOwners[HostUse(user: session.owner, host: host), default: 0] += step
        }
        if limits.perHostOfSession[session] != nil {
            hostsOfSessions[HostUse(user: session, host: host), default: 0] += step
        }
    }

    func of(_ host: String) -> Int { hosts[host, default: 0] }
    func of(_ owner: UserID) -> Int { owners[owner, default: 0] }
    func of(_ session: SessionKey) -> Int { sessions[session, default: 0] }
    func of(_ owner: UserID, on host: String) -> Int { hostsOfOwners[HostUse(user: owner, host: host), default: 0] }

    func fits(_ task: Scheduler.Candidate) -> Bool {
        let (session, host) = (task.session, task.host)
        guard all < limits.global, of(host) < limits.perHost else { return false }
        if let most = limits.perOwner, of(session.owner) >= most { return false }
        if let most = limits.perSession[session], of(session) >= most { return false }
        guard let most = limits.perHostOfSession[session] else { return true }
        return hostsOfSessions[HostUse(user: session, host: host), default: 0] < most
    }

    /// The limits that are reached.
    func full(for task: Scheduler.Candidate) -> Set<SlotLimit> {
        let (session, host) = (task.session, task.host)
        var full: Set<SlotLimit> = []
        if all >= limits.global { full.insert(.global) }
        if let most = limits.perOwner, of(session.owner) >= most { full.insert(.owner) }
        if let most = limits.perSession[session], of(session) >= most { full.insert(.session) }
        let ofSession = hostsOfSessions[HostUse(user: session, host: host), default: 0]
        if of(host) >= limits.perHost || ofSession >= limits.perHostOfSession[session] ?? .max { full.insert(.host) }
        return full
    }

    /// Whether `task` may take the place of `victim`. A limit in which both count may be exceeded, because the exchange
    /// does not change its count.
    func fits(_ task: Scheduler.Candidate, without victim: Scheduler.Candidate) -> Bool {
        let full = full(for: task)
        let (freesHost, freesSession) = (victim.host == task.host, victim.session == task.session)
        if full.contains(.owner), victim.owner != task.owner { return false }
        if full.contains(.session), !freesSession { return false }
        guard full.contains(.host) else { return true }
        // The limit of the host, or that of the session at the host.
        guard freesHost else { return false }
        guard let most = limits.perHostOfSession[task.session], !freesSession else { return true }
        return hostsOfSessions[HostUse(user: task.session, host: task.host), default: 0] < most
    }
}
