import Threading

/// An exchange that was begun, to whoever may have to stop it.
package final class RunningExchange: Sendable {
    private struct State {
        var stop: (@Sendable () -> Void)?
        var isCancelled = false
    }

    private let state = Guarded(State())

    package init() {}

    /// Tells how to stop it, from any thread; false where it was cancelled before: it must not begin.
    package func begins(stop: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            state.stop = stop
            return !state.isCancelled
        }
    }

    /// Ends it with `.aborted`, after what arrived is written; without effect where it is over.
    package func cancel() {
        let stop = state.withLock { state in
            state.isCancelled = true
            return state.stop
        }
        stop?()
    }
}
