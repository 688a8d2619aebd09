import TransferModel
import TransferStore

/// Queued tasks read for the next rounds too: while slots only get free, filling them again asks the store nothing.
///
/// It answers as the store would, or not at all. Whatever else changes the queue makes it stale.
struct LookAhead: Sendable {
    private struct Lane: Hashable {
        var session: SessionKey
        var host: String

        init(_ task: QueuedTask) {
            session = task.session
            host = task.host
        }
    }

    private static let deepest = 8

    /// Best first.
    private var tasks: [QueuedTask] = []
    private(set) var sessions: [SessionKey: SessionRecord] = [:]
    /// Lanes of which the store may have more than was read.
    private var cut: Set<Lane> = []
    private var isCut = true
    /// How many rounds' worth is read next: more each time that what was read was used up.
    private var depth = 1
    /// Counts what made it stale.
    private(set) var version = 0

    /// The store has no queued task that may run, and nothing changed since it said so: a slot that gets free stays free.
    var isEmpty: Bool { tasks.isEmpty && !isCut && cut.isEmpty }

    /// What to ask the store for, so that rounds of `query` can be answered.
    func widened(_ query: CandidateQuery) -> CandidateQuery {
        var wide = query
        wide.perLane *= depth
        wide.limit *= depth
        return wide
    }

    /// Takes what the store answered to `query`, which was asked at `version`: something may have changed since.
    mutating func fill(
        _ found: [QueuedTask], _ sessions: [SessionKey: SessionRecord], for query: CandidateQuery, at version: Int
    ) {
        guard version == self.version else { return }
        depth = min(depth * 2, Self.deepest)
        tasks = found
        self.sessions = sessions
        isCut = found.count >= query.limit
        var counts: [Lane: Int] = [:]
        for task in found { counts[Lane(task), default: 0] += 1 }
        cut = Set(counts.filter { $0.value >= query.perLane }.keys)
    }

    /// The queue changed.
    mutating func forget() {
        let version = version + 1
        self = LookAhead()
        self.version = version
    }

    /// These are not queued any more, or soon will not be.
    mutating func remove(_ ids: Set<TaskID>) { tasks.removeAll { ids.contains($0.id) } }

    /// The store's answer to `query`; nil where that is not known.
    func candidates(_ query: CandidateQuery) -> [QueuedTask]? {
        var left = query.limit
        var counts: [Lane: Int] = [:]
        var found: [QueuedTask] = []
        for task in tasks where !query.excludedTasks.contains(task.id) {
            let lane = Lane(task)
            let count = counts[lane, default: 0]
            guard count < query.perLane else { continue }
            counts[lane] = count + 1
            found.append(task)
            left -= 1
            if left == 0 { break }
        }
        guard left == 0 || !isCut else { return nil }
        return cut.allSatisfy { counts[$0, default: 0] >= query.perLane || left == 0 } ? found : nil
    }
}
