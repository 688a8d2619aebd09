import Threading
import TransferModel

/// Shares one sync of a folder among all that wait for it. What was renamed before the sync begins is durable after it.
final class SharedSync: Sendable {
    typealias Completion = @Sendable (Result<Void, TransferError>) -> Void

    private struct State {
        var waiting: [Completion] = []
        var isRunning = false
    }

    private let state = Guarded(State())

    /// Calls `completion` after a sync that began after this call.
    ///
    /// A failed sync fails for everybody who had joined by then. A later sync would say nothing about the same entries
    /// (fsync(2) reports an error once).
    /// - Parameters:
    ///   - post: runs a job that may block on another thread.
    ///   - sync: the sync itself.
    func join(
        post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        sync: @escaping @Sendable () -> Result<Void, TransferError>, _ completion: @escaping Completion
    ) {
        let starts = state.withLock { state in
            state.waiting.append(completion)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { post { self.run(post, sync) } }
    }

    private func run(
        _ post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        _ sync: @escaping @Sendable () -> Result<Void, TransferError>
    ) {
        var group = takeWaiting()
        let result = sync()
        if case .failure = result { group += takeWaiting() }
        let goesOn = state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            return state.isRunning
        }
        for completion in group { completion(result) }
        if goesOn { post { self.run(post, sync) } }
    }

    private func takeWaiting() -> [Completion] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
