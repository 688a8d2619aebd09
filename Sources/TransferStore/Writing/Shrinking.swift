import Threading

/// Gives the pages that deleted rows held back to the file system: in steps of some milliseconds that queue up like any
/// other write, begun once little else is written, so that nobody waits for more than one of them.
final class Shrinking: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isWanted = false
        var isStopped = false
    }

    /// Free pages that are let be: the next rows take them. 1 MiB.
    static let kept = 256
    /// Pages of one step: 1 MiB, some milliseconds of the writer.
    static let step = 256
    /// Nothing was written for so long: whoever deletes may be done.
    static let quiet: Duration = .milliseconds(300)
    /// How often it waits for `quiet` at most, and between two steps while others write.
    static let patience = 20

    private let committer: GroupCommitter
    private let state = Guarded(State())

    init(_ committer: GroupCommitter) { self.committer = committer }

    /// The file may have pages to give back; returns at once.
    func note() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isWanted = true
            if state.task == nil { state.task = Task { await run() } }
        }
    }

    var isActive: Bool { state.withLock { $0.task != nil } }

    func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
    }

    private func run() async {
        while takeWish() {
            await waitForQuiet()
            // A full disk or a store that closes; the next deletion, or the next daemon, tries again.
            _ = try? await shrink()
        }
    }

    /// False, and the task is over, where nothing was deleted since the last look.
    private func takeWish() -> Bool {
        state.withLock { state in
            guard state.isWanted, !state.isStopped else {
                state.task = nil
                return false
            }
            state.isWanted = false
            return true
        }
    }

    private func waitForQuiet() async {
        for _ in 0..<Self.patience {
            let count = committer.writeCount
            try? await Task.sleep(for: Self.quiet)
            if Task.isCancelled || committer.writeCount == count { return }
        }
    }

    private func shrink() async throws {
        // Asked on the writer's connection: whoever closes the store must not wait for a reader of this task.
        guard try await committer.write({ try $0.freePages() }) > Self.kept else { return }
        while !Task.isCancelled {
            let count = committer.writeCount
            if try await committer.write({ try $0.giveBack(atMost: Self.step) }) == 0 { return }
            if committer.writeCount > count + 1 { try? await Task.sleep(for: Self.quiet / Self.patience) }
        }
    }
}
