import TransferModel
import TransferStore

/// Queued tasks that were read for later rounds too. While nothing changes but slots that get free, no round asks the store.
///
/// It answers as the store would, or not at all. Every other change of the queue makes it stale.
struct LookAhead: Sendable {
    private static let deepest = 8

    /// nil before the first answer, and after a change.
    private var known: Candidates?
    private(set) var sessions: [SessionKey: SessionRecord] = [:]
    /// How many rounds' worth is read next: more each time that what was read was used up.
    private var depth = 1
    /// Counts the changes that made it stale.
    private(set) var version = 0

    /// The store has no queued task that may run, and nothing has changed since it said so.
    var isEmpty: Bool { known.map { $0.sessions.allSatisfy(\.tasks.isEmpty) && !$0.hasMore } ?? false }

    /// What to ask the store for, so that rounds of `query` can be answered.
    func widened(_ query: CandidateQuery) -> CandidateQuery {
        var wide = query
        wide.perLane *= depth
        wide.limit *= depth
        return wide
    }

    /// Takes what the store answered at `version`: something may have changed since.
    mutating func fill(_ found: Candidates, _ sessions: [SessionKey: SessionRecord], at version: Int) {
        guard version == self.version else { return }
        depth = min(depth * 2, Self.deepest)
        known = found
        self.sessions = sessions
    }

    /// The queue changed.
    mutating func forget() {
        let version = version + 1
        self = LookAhead()
        self.version = version
    }

    /// These are not queued any more, or soon will not be.
    mutating func remove(_ ids: Set<TaskID>) {
        guard var known else { return }
        // As one value: in place, each access would copy it.
        self.known = nil
        for index in known.sessions.indices { known.sessions[index].tasks.removeAll { ids.contains($0.id) } }
        known.sessions.removeAll { $0.tasks.isEmpty && !$0.isCut && $0.cutHosts.isEmpty }
        self.known = known
    }

    /// The store's answer to `query`; nil if that is not known.
    func candidates(_ query: CandidateQuery) -> Candidates? {
        guard let known, !known.isCut, query.wantedTasks.isEmpty else { return nil }
        let most = query.perSession(among: known.sessions.count)
        var found = Candidates()
        for session in known.sessions {
            guard let answer = Self.best(of: session, query, most: most) else { return nil }
            found.sessions.append(answer)
        }
        return found
    }

    private static func best(
        of session: Candidates.OfSession, _ query: CandidateQuery, most: Int
    ) -> Candidates.OfSession? {
        var found = Candidates.OfSession(session: session.session)
        var counts: [String: Int] = [:]
        for task in session.tasks where !query.excludedTasks.contains(task.id) {
            let count = counts[task.host, default: 0]
            guard count < query.perLane else {
                found.cutHosts.insert(task.host)
                continue
            }
            if found.tasks.count == most {
                found.isCut = true
                break
            }
            counts[task.host] = count + 1
            found.tasks.append(task)
        }
        if found.tasks.count == most {
            found.isCut = found.isCut || session.isCut || !session.cutHosts.isEmpty
            return found
        }
        guard !session.isCut, session.cutHosts.allSatisfy({ counts[$0, default: 0] >= query.perLane }) else {
            return nil
        }
        found.cutHosts.formUnion(session.cutHosts)
        return found
    }
}
