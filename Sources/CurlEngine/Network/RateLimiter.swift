import TransferCore
import TransferModel

/// A bucket that several transfers share; used only by the reactor.
final class SharedBucket {
    var bucket: TokenBucket
    init(_ bucket: TokenBucket) { self.bucket = bucket }

    /// A wait is long enough to collect this much time's bytes, so that fast limits do not cost a wake-up per chunk.
    static let shortestWait: Int64 = 4_000_000
    /// Slow limits send pieces of this many seconds' bytes, and of at most this many bytes.
    private static let pieceTime = 0.25
    private static let longestPiece = 4096.0

    /// Takes `count` bytes that have arrived out of the bucket.
    /// - Returns: when they may pass: when the bucket is no longer in debt for them.
    func charge(_ count: Int, at now: Int64) -> Int64 {
        bucket.spend(ByteCount(Int64(count)), at: now)
        return bucket.nextAvailable(.zero, at: now)
    }

    /// When sending may continue; nil if it may now.
    func wait(at now: Int64) -> Int64? {
        guard bucket.allowance(at: now) == .zero else { return nil }
        let rate = Double(bucket.rate.rawValue)
        let piece = max(rate * Double(Self.shortestWait) * 1e-9, min(rate * Self.pieceTime, Self.longestPiece))
        return bucket.nextAvailable(ByteCount(Int64(piece) + 1), at: now)
    }
}

/// Which direction a limit applies to.
enum RateDirection: Sendable { case receiving, sending }

/// The current limits of one direction: global, per session and per task; used only by the reactor.
struct RateLimiter {
    private var global: SharedBucket?
    private var sessions: [SessionKey: SharedBucket] = [:]
    private var tasks: [TaskID: SharedBucket] = [:]

    /// `now` is in nanoseconds on the reactor's clock; 0 removes a limit. Each function returns whether there is, or
    /// was, a limit.
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
