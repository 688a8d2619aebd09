import Threading

/// A clock that stands still until a test moves it.
package final class ManualClock: Sendable {
    private let nanoseconds: Guarded<Int64>

    package init(nanoseconds: Int64 = 0) { self.nanoseconds = Guarded(nanoseconds) }

    package var now: Int64 { nanoseconds.withLock { $0 } }
    package var milliseconds: Int64 { now / 1_000_000 }

    package func advance(by duration: Duration) {
        let (seconds, attoseconds) = duration.components
        nanoseconds.withLock { $0 += seconds * 1_000_000_000 + attoseconds / 1_000_000_000 }
    }
}
