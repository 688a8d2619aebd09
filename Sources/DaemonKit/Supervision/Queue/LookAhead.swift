import TransferCore
import TransferModel
import TransferStore

/// Queued tasks that were read for later rounds. As long as nothing changes except that slots become free, no round
/// asks the store.
///
/// It answers exactly as the store would, or not at all. Any other change of the queue makes it stale. Hosts are
/// numbered here, because each round examines every known task.
struct LookAhead: Sendable {
    private static let deepest = 8

    private struct OfSession: Sendable {
        let session: SessionKey
        /// Best first.
        let tasks: [QueuedTask]
        /// The index of each task's host; `removed` if the task is not queued any more.
        private(set) var lanes: [Int] = []
        /// All tasks before this index are removed.
        private(set) var first = 0
        private var removedCount = 0
        private(set) var hosts: [String] = []
        /// Hosts of which the store has more tasks.
        private(set) var cutLanes: [Int] = []
        let isCut: Bool

        static let removed = -1

        init(_ found: Candidates.OfSession) {
            session = found.session
            isCut = found.isCut
            tasks = found.tasks
            var known: [String: Int] = [:]
            func lane(_ host: String) -> Int {
                if let last = lanes.last, hosts[last] == host { return last }
                if let lane = known[host] { return lane }
                known[host] = hosts.count
                hosts.append(host)
                return hosts.count - 1
            }
            lanes.reserveCapacity(tasks.count)
            for task in found.tasks {
                let lane = lane(task.host)
                lanes.append(lane)
            }
            cutLanes = found.cutHosts.map(lane)
        }

        mutating func remove(_ ids: [TaskID]) {
            for id in ids {
                guard let index = tasks[first...].firstIndex(where: { $0.id == id }), lanes[index] != Self.removed
                else { continue }
                lanes[index] = Self.removed
                removedCount += 1
            }
            while first < tasks.count, lanes[first] == Self.removed { first += 1 }
        }

        var hasTasks: Bool { removedCount < tasks.count }
        /// Neither this nor the store has a task of the session.
        var isEmpty: Bool { !hasTasks && !isCut && cutLanes.isEmpty }
    }

    /// nil before the first answer, and after a change.
    private var known: [OfSession]?
    /// The store has more sessions with tasks.
    private var isCut = false
    private(set) var sessions: [SessionKey: SessionRecord] = [:]
    /// The limits of these sessions as they were configured then.
    private(set) var limits = SlotLimits(global: 0, perHost: 0)
    /// How many rounds are read at a time. It grows each time everything that was read has been used.
    private var depth = 1
    /// Counts the changes that made it stale.
    private(set) var version = 0

    /// The store had no queued task that may run, and nothing has changed since.
    var isEmpty: Bool {
        !isCut && known?.allSatisfy(\.isEmpty) ?? false
    }

    /// Widens `query`, so that several rounds can be answered.
    func widened(_ query: CandidateQuery) -> CandidateQuery {
        var wide = query
        wide.perLane *= depth
        wide.limit *= depth
        return wide
    }

    /// Takes the store's answer to a query made at `version`. It is dropped if something has changed since.
    mutating func fill(
        _ found: Candidates, _ sessions: [SessionKey: SessionRecord], _ limits: SlotLimits, at version: Int
    ) {
        guard version == self.version else { return }
        depth = min(depth * 2, Self.deepest)
        known = found.sessions.map(OfSession.init)
        isCut = found.isCut
        self.sessions = sessions
        self.limits = limits
    }

    /// Forgets everything, because the queue changed.
    mutating func forget() {
        let version = version + 1
        self = LookAhead()
        self.version = version
    }

    /// Removes tasks that are not queued any more, or soon will not be.
    mutating func remove(_ ids: [TaskID]) {
        guard var known else { return }
        // Changed as a local value, because each access in place would copy it.
        self.known = nil
        for index in known.indices { known[index].remove(ids) }
        known.removeAll(where: \.isEmpty)
        self.known = known
    }

    /// Returns the store's answer to `query`; nil if it is not known.
    func candidates(_ query: CandidateQuery) -> Candidates? {
        guard let known, !isCut, query.wantedTasks.isEmpty else { return nil }
        let most = query.perSession(among: known.count)
        var found = Candidates()
        found.sessions.reserveCapacity(known.count)
        for session in known {
            guard let answer = Self.best(of: session, query, most: most) else { return nil }
            found.sessions.append(answer)
        }
        return found
    }

    private static func best(of session: OfSession, _ query: CandidateQuery, most: Int) -> Candidates.OfSession? {
        var found = Candidates.OfSession(session: session.session)
        found.tasks.reserveCapacity(min(most, query.perLane, session.tasks.count))
        var counts = [Int](repeating: 0, count: session.hosts.count)
        var isCut = [Bool](repeating: false, count: session.hosts.count)
        let excludes = !query.excludedTasks.isEmpty
        for index in session.first..<session.tasks.count {
            let lane = session.lanes[index]
            if lane == OfSession.removed { continue }
            if excludes, query.excludedTasks.contains(session.tasks[index].id) { continue }
            guard counts[lane] < query.perLane else {
                isCut[lane] = true
                continue
            }
            if found.tasks.count == most {
                found.isCut = true
                break
            }
            counts[lane] += 1
            found.tasks.append(session.tasks[index])
        }
        if found.tasks.count == most {
            found.isCut = found.isCut || session.isCut || !session.cutLanes.isEmpty
        } else {
            guard !session.isCut, session.cutLanes.allSatisfy({ counts[$0] >= query.perLane }) else { return nil }
            for lane in session.cutLanes { isCut[lane] = true }
        }
        for lane in isCut.indices where isCut[lane] { found.cutHosts.insert(session.hosts[lane]) }
        return found
    }
}
