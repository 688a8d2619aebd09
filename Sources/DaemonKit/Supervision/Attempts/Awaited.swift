/// What a run waits for.
protocol Awaited: Sendable {
    /// Calls `body` once, on any thread, when it is over; at once if it is over already.
    func whenOver(_ body: @escaping @Sendable () -> Void)
    /// Makes it end soon.
    func cancel()
}
