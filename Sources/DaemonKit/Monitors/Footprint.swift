import CLinux
import Threading

/// Keeps the daemon small between bursts. Memory that a thousand tasks needed while they were added or ran goes back to
/// the kernel as soon as the daemon is quiet.
package final class Footprint: Sendable {
    private struct State {
        var trimmer: Task<Void, Never>?
        var wasUsed = false
        /// Events since the burst began.
        var events = 0
    }

    /// After fewer events, too little memory is free to be worth visiting every heap.
    static let burst = 100
    static let quiet: Duration = .milliseconds(500)
    /// The most times it waits for `quiet`: if there is always a little to do, it is never quite quiet.
    static let patience = 60

    private let trim: @Sendable () async -> Void
    private let state = Guarded(State())

    /// - Parameter trim: returns free memory to the kernel; takes a few milliseconds.
    package init(trim: @escaping @Sendable () async -> Void) { self.trim = trim }

    /// Must run before other threads exist. With two heaps, threads that add tasks waited for each other (one futex
    /// call for each task). The default of eight heaps per processor is more than the number of busy threads.
    package static func prepare() { dld_limit_heaps(8, 256 << 10) }

    /// Returns free memory to the kernel, and also drops code that ran and may not run again for long.
    package static func shrink() {
        dld_trim_heaps()
        dld_forget_code()
    }

    /// Counts changes of tasks. Many small calls and ended transfers leave as much free memory as one large call.
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

    /// Tells whether it was quiet in this round, or this was the last round. The next burst then starts new rounds.
    private func isOver(_ round: Int) -> Bool {
        state.withLock { state in
            guard !state.wasUsed || round == Self.patience else { return false }
            (state.trimmer, state.events) = (nil, 0)
            return true
        }
    }
}
