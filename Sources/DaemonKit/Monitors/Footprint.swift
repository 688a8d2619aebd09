import CLinux
import Threading

/// Keeps the daemon small between its bursts: what a thousand tasks needed for a moment, while they were added or while
/// they ran, goes back to the kernel once it is quiet.
package final class Footprint: Sendable {
    private struct State {
        var trimmer: Task<Void, Never>?
        var wasUsed = false
        /// Events since the last burst began.
        var events = 0
    }

    /// Fewer events leave nothing that is worth a visit to every heap.
    static let burst = 100
    static let quiet: Duration = .milliseconds(500)
    /// How often it waits for `quiet` at most: where there is a little to do all the time, it is never quite quiet.
    static let patience = 60

    private let trim: @Sendable () async -> Void
    private let state = Guarded(State())

    /// - Parameter trim: gives free memory back; takes some milliseconds.
    package init(trim: @escaping @Sendable () async -> Void) { self.trim = trim }

    /// Before there are threads. With two heaps the threads that add tasks waited for each other (a futex call for
    /// each task); the default, eight for each processor, is more than a daemon has busy threads.
    package static func prepare() { dld_limit_heaps(8, 256 << 10) }

    /// Once it is quiet: free memory goes back, and with it the code that ran and may not run again for long.
    package static func shrink() {
        dld_trim_heaps()
        dld_forget_code()
    }

    /// So many things happened to tasks. Many small calls, and transfers that end, leave as much as a large call does.
    package func note(events: Int) {
        state.withLock { state in
            state.wasUsed = true
            state.events += events
            guard state.trimmer == nil, state.events >= Self.burst else { return }
            state.trimmer = Task { await self.trimWhenQuiet() }
        }
    }

    private func trimWhenQuiet() async {
        for round in 1...Self.patience {
            state.withLock { $0.wasUsed = false }
            try? await Task.sleep(for: Self.quiet)
            if isOver(round) { break }
        }
        await trim()
    }

    /// Whether nothing happened meanwhile, or it was waited for long enough; the next burst starts anew then.
    private func isOver(_ round: Int) -> Bool {
        state.withLock { state in
            guard !state.wasUsed || round == Self.patience else { return false }
            (state.trimmer, state.events) = (nil, 0)
            return true
        }
    }
}
