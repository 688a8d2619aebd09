import CLinux
import Threading

/// Keeps the daemon small between its bursts: what a thousand tasks in one call needed for a moment goes back to the
/// kernel once it is quiet.
package final class Footprint: Sendable {
    private struct State {
        var trimmer: Task<Void, Never>?
        var wasUsed = false
    }

    /// Calls that add fewer tasks leave nothing that is worth a visit to every heap.
    static let burst = 100
    static let quiet: Duration = .milliseconds(500)

    private let trim: @Sendable () async -> Void
    private let state = Guarded(State())

    /// - Parameter trim: gives free memory back; takes some milliseconds.
    package init(trim: @escaping @Sendable () async -> Void) { self.trim = trim }

    /// Before there are threads. With two heaps the threads that add tasks waited for each other (a futex call for
    /// each task); the default, eight for each processor, is more than a daemon has busy threads.
    package static func prepare() { dld_limit_heaps(8, 256 << 10) }

    /// Once it is quiet: free memory goes back, and with it the code that ran and may not run again for long.
    package static func settle() {
        dld_trim_heaps()
        dld_forget_code()
    }

    /// A call needed much memory and has been answered.
    package func noteBurst() {
        state.withLock { state in
            state.wasUsed = true
            guard state.trimmer == nil else { return }
            state.trimmer = Task { await self.trimWhenQuiet() }
        }
    }

    private func trimWhenQuiet() async {
        repeat {
            state.withLock { $0.wasUsed = false }
            try? await Task.sleep(for: Self.quiet)
        } while !isQuiet()
        await trim()
    }

    /// Whether no burst came meanwhile; the next one starts anew then.
    private func isQuiet() -> Bool {
        state.withLock { state in
            if !state.wasUsed { state.trimmer = nil }
            return !state.wasUsed
        }
    }
}
