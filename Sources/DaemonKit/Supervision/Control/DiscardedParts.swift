import TransferModel
import TransferStore

/// What was seen of tasks, and done with their part files, before a request was stored.
struct DiscardedParts {
    /// Tasks that had been attempted: who was not has neither part nor file.
    var attempted: [TaskRecord] = []
    var wasFinal: [TaskID: Bool] = [:]
    /// Their disk is away.
    var left: [LeftPart] = []

    /// Those of tasks that were changed: the others may still want theirs.
    func left(by results: [ControlledTask]) -> [LeftPart] {
        guard !left.isEmpty else { return [] }
        let changed = Set(
            results.compactMap { result -> TaskID? in
                if case .changed(let head) = result { head.id } else { nil }
            })
        return left.filter { changed.contains($0.task) }
    }
}

extension LeftParts {
    /// Removes the part files of those tasks whose bytes go with this action.
    func discardParts(of ids: [TaskID], for action: TaskAction) async throws -> DiscardedParts {
        guard action.isLast else { return DiscardedParts() }
        var parts = try await patience.store.read { snapshot in
            let heads = try snapshot.heads(ids)
            let losing = heads.filter { $0.mayHavePart && action.discardsPart(of: $0) }
            return DiscardedParts(
                attempted: try snapshot.tasks(losing.map(\.id)),
                wasFinal: Dictionary(heads.map { ($0.id, $0.status.state.isFinal) }) { first, _ in first })
        }
        parts.left = await files.discardParts(of: parts.attempted, at: time.reading().wall)
        return parts
    }
}

extension TaskAction {
    /// Whether nothing follows by itself that would take up a part file.
    fileprivate var isLast: Bool {
        switch self {
        case .cancel, .remove: true
        case .pause, .resume, .retry, .resend: false
        }
    }

    /// Whether the task's bytes go with this action: also bytes that could not be resumed from.
    fileprivate func discardsPart(of head: TaskHead) -> Bool {
        switch self {
        case .cancel(let keepPartial): !head.status.state.isFinal && !(keepPartial && head.hasCheckpoint)
        case .remove: head.status.state.isFinal
        case .pause, .resume, .retry, .resend: false
        }
    }
}
