import Threading

/// An exchange that was begun, to whoever may have to stop it.
package final class RunningExchange: Sendable {
    private struct State {
        var transfer: Transfer?
        var reactor: Reactor?
        var isCancelled = false
    }

    private let state = Guarded(State())

    /// What is cancelled from here on; false where that came first.
    func carries(_ transfer: Transfer, on reactor: Reactor) -> Bool {
        state.withLock { state in
            state.transfer = transfer
            state.reactor = reactor
            return !state.isCancelled
        }
    }

    /// Ends it with `.aborted`, after what arrived is written; without effect where it is over.
    package func cancel() {
        let (transfer, reactor) = state.withLock { state in
            state.isCancelled = true
            return (state.transfer, state.reactor)
        }
        if let transfer { reactor?.post(.abort(transfer)) }
    }
}
