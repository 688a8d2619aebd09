import Threading

/// Gives back to the file system what the files hold no more, once little is written: pages of deleted rows, in steps of
/// some milliseconds that queue up like any other write, so that nobody waits for more than one of them; then the log.
final class Tidying: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isWanted = false
        var isStopped = false
    }

    /// Free pages that are let be: the next rows take them. 1 MiB.
    static let kept = 256
    /// Pages of one step: 1 MiB, some milliseconds of the writer.
    static let step = 256
    /// Nothing was written for so long: whoever wrote much may be done.
    static let quiet: Duration = .milliseconds(300)
    /// How often it waits for `quiet` at most, and between two steps while others write.
    static let patience = 20

    private let committer: GroupCommitter
    private let checkpointing: Checkpointing?
    private let state = Guarded(State())

    init(_ committer: GroupCommitter, checkpointing: Checkpointing?) {
        self.committer = committer
        self.checkpointing = checkpointing
    }

    /// There may be something to give back; returns at once.
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
            let isQuiet = await waitForQuiet()
            // A full disk or a store that closes; the next deletion, or the next daemon, tries again.
            try? await shrink()
            if isQuiet { await checkpointing?.truncate() }
        }
    }

    /// False, and the task is over, where nothing came since the last look.
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

    /// False if others write all the time.
    private func waitForQuiet() async -> Bool {
        for _ in 0..<Self.patience {
            let count = committer.writeCount
            try? await Task.sleep(for: Self.quiet)
            if Task.isCancelled { return false }
            if committer.writeCount == count { return true }
        }
        return false
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
