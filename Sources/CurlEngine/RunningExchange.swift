/// An exchange that was started, for a caller that may have to stop it.
package struct RunningExchange: Sendable {
    private let stop: @Sendable () -> Void

    package init(stop: @escaping @Sendable () -> Void) { self.stop = stop }

    /// Ends it with `.aborted` after the bytes that arrived are written. Has no effect if it has already ended.
    package func cancel() { stop() }
}
