import Threading

/// Gives unused space back to the file system when little is written: first the pages of deleted rows, then the log.
/// The pages are freed in steps of some milliseconds, which queue like other writes. So no write waits for more than
/// one step.
final class Tidying: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isWanted = false
        var isStopped = false
    }

    /// Free pages that are kept for the next rows: 1 MiB.
    static let kept = 256
    /// Pages of one step: 1 MiB, some milliseconds of the writer.
    static let step = 256
    /// If nothing was written for this long, a long series of writes may be over.
    static let quiet: Duration = .milliseconds(300)
    /// It waits for `quiet` at most this many times. If others write between two steps, it waits for `quiet /
    /// patience`.
    static let patience = 20

    private let committer: GroupCommitter
    private let checkpointing: Checkpointing?
    private let state = Guarded(State())

    init(_ committer: GroupCommitter, checkpointing: Checkpointing?) {
        self.committer = committer
        self.checkpointing = checkpointing
    }

    /// There may be space to give back; returns immediately.
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
            // The disk is full or the store closes; the next deletion, or the next daemon, tries again.
            try? await shrink()
            guard let checkpointing else { continue }
            if isQuiet, await checkpointing.truncate() { continue }
            // A deleted password may still be in the log.
            note()
            if isQuiet { try? await Task.sleep(for: Self.quiet * Self.patience) }
        }
    }

    /// Whether there was a note since the last look; if not, the task is over.
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
        // Reads on the writer's connection: `close` must not wait for a reader of this task.
        guard try await committer.write({ try $0.freePages() }) > Self.kept else { return }
        while !Task.isCancelled {
            let count = committer.writeCount
            if try await committer.write({ try $0.giveBack(atMost: Self.step) }) == 0 { return }
            if committer.writeCount > count + 1 { try? await Task.sleep(for: Self.quiet / Self.patience) }
        }
    }
}
