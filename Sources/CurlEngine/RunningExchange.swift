/// An exchange that was started, for a caller that may have to stop it.
package struct RunningExchange: Sendable {
    private let stop: @Sendable () -> Void
    let transfer: Transfer?

    package init(stop: @escaping @Sendable () -> Void) { (self.stop, transfer) = (stop, nil) }

    init(_ transfer: Transfer, on reactor: Reactor) {
        self.transfer = transfer
        stop = { reactor.post(.abort(transfer)) }
    }

    /// An answer that it holds (`Exchange.hold`) may be that of another exchange (`TransferContext.continues`).
    package var mayBeContinued: Bool { transfer != nil }

    /// Ends it with `.aborted` after the bytes that arrived are written. Has no effect if it has already ended.
    package func cancel() { stop() }
}
