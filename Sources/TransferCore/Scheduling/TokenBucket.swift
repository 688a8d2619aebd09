import TransferModel

/// Limits a rate: bytes may pass as tokens accrue; a value on a clock that the caller reads.
///
/// Times are nanoseconds of any monotonic clock. `take` never grants more than rate × t + burst in t seconds.
package struct TokenBucket: Sendable, Hashable {
    package private(set) var rate: ByteRate
    private let fixedBurst: ByteCount?
    /// Bytes that may pass now; below zero after `spend` of more than that.
    private var tokens: Double
    private var updatedAt: Int64

    /// - Parameter burst: the most bytes that may pass at once after idling. If nil, a tenth of a second's worth, or 16
    ///   KiB if that is more, but never more than a second's worth. A new bucket is empty.
    package init(rate: ByteRate, burst: ByteCount? = nil, at now: Int64) {
        self.rate = rate
        fixedBurst = burst
        tokens = 0
        updatedAt = now
    }

    package var burst: ByteCount {
        fixedBurst ?? max(min(.kibibytes(16), ByteCount(rate.rawValue)), ByteCount(rate.rawValue / 10))
    }

    /// Bytes that may pass now; `.max` if the rate is unlimited.
    package mutating func allowance(at now: Int64) -> ByteCount {
        guard !rate.isUnlimited else { return ByteCount(.max) }
        refill(now)
        return ByteCount(max(0, Int64(tokens)))
    }

    /// Takes up to `wanted` bytes and returns how many were granted.
    package mutating func take(_ wanted: ByteCount, at now: Int64) -> ByteCount {
        let granted = min(max(0, wanted), allowance(at: now))
        if !rate.isUnlimited { tokens -= Double(granted.rawValue) }
        return granted
    }

    /// Accounts for bytes that have already passed, even beyond the allowance: the debt is repaid by waiting.
    package mutating func spend(_ bytes: ByteCount, at now: Int64) {
        guard !rate.isUnlimited else { return }
        refill(now)
        tokens -= Double(bytes.rawValue)
    }

    /// When `bytes` (at most the burst) may pass; not before `now`.
    package mutating func nextAvailable(_ bytes: ByteCount = 1, at now: Int64) -> Int64 {
        guard !rate.isUnlimited else { return now }
        refill(now)
        let missing = Double(min(bytes, burst).rawValue) - tokens
        guard missing > 0 else { return now }
        // At most about a hundred days: a debt at a rate of almost zero must not overflow the clock.
        return now + Int64(min(missing / Double(rate.rawValue) * 1e9, 1e16).rounded(.up))
    }

    /// Takes effect at once: what accrued so far accrued at the old rate, and at most the new burst is kept.
    package mutating func setRate(_ newRate: ByteRate, at now: Int64) {
        refill(now)
        let wasUnlimited = rate.isUnlimited
        rate = newRate
        tokens = wasUnlimited ? 0 : min(tokens, Double(burst.rawValue))
    }

    private mutating func refill(_ now: Int64) {
        guard now > updatedAt else { return }
        if !rate.isUnlimited {
            let accrued = Double(now - updatedAt) * 1e-9 * Double(rate.rawValue)
            tokens = min(tokens + accrued, Double(burst.rawValue))
        }
        updatedAt = now
    }
}
