import TransferCore
import TransferModel

/// A bucket that several transfers share; the reactor's alone.
final class SharedBucket {
    var bucket: TokenBucket
    init(_ bucket: TokenBucket) { self.bucket = bucket }

    /// Waits are long enough to save up this much time's bytes, so that fast limits do not cost a wake-up per chunk.
    static let shortestWait: Int64 = 4_000_000
    /// Slow limits send pieces worth so many seconds, of so many bytes at most.
    private static let pieceTime = 0.25
    private static let longestPiece = 4096.0

    /// Takes `count` bytes that are at hand out of the bucket.
    /// - Returns: when they may pass: once the bucket has made good for them.
    func charge(_ count: Int, at now: Int64) -> Int64 {
        bucket.spend(ByteCount(Int64(count)), at: now)
        return bucket.nextAvailable(.zero, at: now)
    }

    /// When sending may go on, if it may not now.
    func wait(at now: Int64) -> Int64? {
        guard bucket.allowance(at: now) == .zero else { return nil }
        let rate = Double(bucket.rate.rawValue)
        let piece = max(rate * Double(Self.shortestWait) * 1e-9, min(rate * Self.pieceTime, Self.longestPiece))
        return bucket.nextAvailable(ByteCount(Int64(piece) + 1), at: now)
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
