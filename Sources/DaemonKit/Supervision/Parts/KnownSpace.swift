import Threading
import TransferModel

/// What file systems had free when they were looked at last: of a thousand tasks that begin together one looks.
final class KnownSpace: Sendable {
    private struct Look {
        var free: ByteCount
        /// Milliseconds of the boot clock.
        var time: Int64
    }

    /// A look counts for so many milliseconds.
    private static let validity: Int64 = 500
    /// What others may write meanwhile.
    private static let margin = ByteCount.mebibytes(256)

    private let looks = Guarded<[UInt64: Look]>([:])

    func note(_ free: ByteCount, on device: UInt64, at now: Int64) {
        looks.withLock { $0[device] = Look(free: free, time: now) }
    }

    /// False if there may be too little: then somebody has to look.
    func hasSpace(on device: UInt64, leaving minimum: ByteCount, at now: Int64) -> Bool {
        guard let look = looks.withLock({ $0[device] }) else { return false }
        return now - look.time <= Self.validity && look.free >= minimum + Self.margin
    }
}
