import Testing
import TransferModel

@testable import CurlEngine

@Suite struct RateLimiterTests {
    private let second: Int64 = 1_000_000_000

    private func context(_ task: Int64, _ session: String) -> TransferContext {
        TransferContext(
            task: TaskID(task), session: SessionKey(owner: UserID(1), identifier: session),
            counters: TransferCounters(), observer: Observer())
    }

    @Test func appliesEveryLimitThatIsSet() {
        var limiter = RateLimiter()
        let session = SessionKey(owner: UserID(1), identifier: "a")
        #expect(limiter.buckets(of: context(1, "a")).isEmpty)
        limiter.setGlobal(100, at: 0)
        limiter.set(session, 50, at: 0)
        limiter.set(TaskID(1), 25, at: 0)
        #expect(limiter.buckets(of: context(1, "a")).map(\.bucket.rate) == [100, 50, 25])
        #expect(limiter.buckets(of: context(2, "a")).map(\.bucket.rate) == [100, 50])
        #expect(limiter.buckets(of: context(2, "b")).map(\.bucket.rate) == [100])
        limiter.setGlobal(0, at: 0)
        limiter.set(TaskID(1), 0, at: 0)
        #expect(limiter.buckets(of: context(1, "a")).map(\.bucket.rate) == [50])
    }

    @Test func aChangeKeepsTheBucketThatTransfersShare() throws {
        var limiter = RateLimiter()
        limiter.setGlobal(1000, at: 0)
        let before = try #require(limiter.buckets(of: context(1, "a")).first)
        before.bucket.spend(5000, at: 0)
        limiter.setGlobal(2000, at: 0)
        let after = try #require(limiter.buckets(of: context(1, "a")).first)
        #expect(before === after)
        #expect(after.bucket.rate == 2000)
        #expect(after.wait(at: 0) != nil)
    }

    /// The bytes that pass in ten seconds, read in chunks as libcurl provides them, match the rate.
    @Test(arguments: [1, 500, 10_000, 1_000_000, 50_000_000] as [Int64])
    func letsTheRateThrough(rate: Int64) throws {
        var limiter = RateLimiter()
        limiter.setGlobal(ByteRate(rate), at: 0)
        let bucket = try #require(limiter.buckets(of: context(1, "a")).first)
        let chunk = rate < 65_536 ? 1024 : 16384
        var (now, passed): (Int64, Int64) = (0, 0)
        while now < 10 * second {
            let due = bucket.charge(chunk, at: now)
            // A timer that is two milliseconds late.
            if due > now { now = max(due, now + SharedBucket.shortestWait) + 2_000_000 }
            if now < 10 * second { passed += Int64(chunk) }
        }
        #expect(passed <= 10 * rate, "a new bucket is empty, and nothing passes before its time")
        #expect(passed >= 10 * rate - rate / 2 - Int64(chunk))
    }
}
