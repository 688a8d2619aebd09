import TransferCore
import TransferModel

/// A bucket that several transfers share; the reactor's alone.
final class SharedBucket {
    var bucket: TokenBucket
    init(_ bucket: TokenBucket) { self.bucket = bucket }

    /// Waits are long enough to save up this much time's bytes, so that fast limits do not cost a wake-up per chunk.
    private static let shortestWait = 0.004

    /// When reading may go on, where it may not now. What was read is spent afterwards, into debt where need be.
    func wait(at now: Int64) -> Int64? {
        guard bucket.allowance(at: now) == .zero else { return nil }
        return bucket.nextAvailable(ByteCount(Int64(Double(bucket.rate.rawValue) * Self.shortestWait) + 1), at: now)
    }
}

/// Which way the bytes of a limit go.
enum RateDirection: Sendable { case receiving, sending }

/// The limits of one direction that are in force: global, per session and per task; the reactor's alone.
struct RateLimiter {
    private var global: SharedBucket?
    private var sessions: [SessionKey: SharedBucket] = [:]
    private var tasks: [TaskID: SharedBucket] = [:]

    /// `now` in nanoseconds on the reactor's clock; 0 lifts a limit.
    /// Each returns whether anything changed.
    @discardableResult
    mutating func setGlobal(_ rate: ByteRate, at now: Int64) -> Bool { Self.set(&global, rate, now) }
    @discardableResult
    mutating func set(_ session: SessionKey, _ rate: ByteRate, at now: Int64) -> Bool {
        Self.set(&sessions[session], rate, now)
    }
    @discardableResult
    mutating func set(_ task: TaskID, _ rate: ByteRate, at now: Int64) -> Bool { Self.set(&tasks[task], rate, now) }

    private static func set(_ place: inout SharedBucket?, _ rate: ByteRate, _ now: Int64) -> Bool {
        if place == nil, rate.rawValue <= 0 { return false }
        if rate.rawValue <= 0 {
            place = nil
        } else if let bucket = place {
            bucket.bucket.setRate(rate, at: now)
        } else {
            place = SharedBucket(TokenBucket(rate: rate, at: now))
        }
        return true
    }

    /// The buckets that a transfer must find open before it reads.
    func buckets(of context: TransferContext) -> [SharedBucket] {
        [global, sessions[context.session], tasks[context.task]].compactMap(\.self)
    }
}
