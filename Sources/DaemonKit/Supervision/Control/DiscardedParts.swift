import TransferModel
import TransferStore

/// What was found and done with the part files of tasks before a request is stored.
struct DiscardedParts {
    /// Tasks that were attempted. Others have neither a part file nor a file.
    var attempted: [TaskRecord] = []
    var wasFinal: [TaskID: Bool] = [:]
    /// Part files whose disk is unavailable.
    var left: [LeftPart] = []

    /// The part files of tasks that were changed. Other tasks may still need theirs.
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
    /// Removes the part files of the tasks that lose their bytes by this action.
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
    /// Tells whether nothing follows automatically that would use a part file.
    fileprivate var isLast: Bool {
        switch self {
        case .cancel, .remove: true
        case .pause, .resume, .retry, .resend: false
        }
    }

    /// Tells whether the task loses its bytes by this action, including bytes from which it could not resume.
    fileprivate func discardsPart(of head: TaskHead) -> Bool {
        switch self {
        case .cancel(let keepPartial): !head.status.state.isFinal && !(keepPartial && head.hasCheckpoint)
        case .remove: head.status.state.isFinal
        case .pause, .resume, .retry, .resend: false
        }
    }
}
