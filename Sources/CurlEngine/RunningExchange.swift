/// An exchange that was started, for the caller that may have to stop it.
package struct RunningExchange: Sendable {
    private let stop: @Sendable () -> Void

    package init(stop: @escaping @Sendable () -> Void) { self.stop = stop }

    /// Ends it with `.aborted` after what arrived is written. Has no effect if it is over.
    package func cancel() { stop() }
}
