import Threading
import TransferModel

/// The free space of file systems at the last check. Of a thousand tasks that begin together, only one checks.
final class KnownSpace: Sendable {
    /// Milliseconds for which a check is valid.
    private static let validity: Int64 = 500
    /// The space that others may use meanwhile.
    private static let margin = ByteCount.mebibytes(256)

    /// By device; the time in milliseconds of the boot clock.
    private let looks = Guarded<[UInt64: (free: ByteCount, time: Int64)]>([:])

    func note(_ free: ByteCount, on device: UInt64, at now: Int64) {
        looks.withLock { $0[device] = (free, now) }
    }

    /// Returns false if there may be too little space; then the caller must check.
    func hasSpace(on device: UInt64, leaving minimum: ByteCount, at now: Int64) -> Bool {
        guard let look = looks.withLock({ $0[device] }) else { return false }
        return now - look.time <= Self.validity && look.free >= minimum + Self.margin
    }
}
