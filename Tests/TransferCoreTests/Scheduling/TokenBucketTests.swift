import Testing
import TransferModel

@testable import TransferCore

struct TokenBucketTests {
    private let second: Int64 = 1_000_000_000

    @Test func neverMoreThanRateTimesTimePlusBurst() {
        var generator = SeededGenerator(state: 1)
        for _ in 0..<100 {
            let rate = Int64.random(in: 1000...500_000_000, using: &generator)
            var bucket = TokenBucket(rate: ByteRate(rate), at: 0)
            var (now, taken) = (Int64(0), Int64(0))
            for _ in 0..<500 {
                now += Int64.random(in: 0...20_000_000, using: &generator)
                taken += bucket.take(ByteCount(.random(in: 0...300_000, using: &generator)), at: now).rawValue
                let allowed = Double(rate) * Double(now) / 1e9 + Double(bucket.burst.rawValue)
                #expect(Double(taken) <= allowed + 1)
            }
        }
    }

    @Test(arguments: [10_000, 1_000_000, 100_000_000])
    func sustainsItsRateWithinFivePercent(_ rate: Int64) {
        var bucket = TokenBucket(rate: ByteRate(rate), at: 0)
        var (now, taken) = (Int64(0), Int64(0))
        while now < 5 * second {
            taken += bucket.take(16_384, at: now).rawValue
            now = max(now + 1, bucket.nextAvailable(ByteCount(min(16_384, bucket.burst.rawValue)), at: now))
        }
        // The last grant may be short by one chunk, which is a large share at a very low rate.
        let tolerance = max(Double(rate) * 5 * 0.05, 16_384)
        #expect(abs(Double(taken) - Double(rate) * 5) <= tolerance)
    }

    @Test func chunksThatHavePassedAlreadyAreWaitedOff() {
        var bucket = TokenBucket(rate: 1_000_000, at: 0)
        var (now, passed) = (Int64(0), Int64(0))
        while now < 5 * second {
            bucket.spend(16_384, at: now)
            passed += 16_384
            now = bucket.nextAvailable(at: now)
        }
        #expect(abs(Double(passed) - 5_000_000) <= 250_000)
    }

    @Test func aNewBucketIsEmptyAndAnIdleOneHoldsItsBurst() {
        var bucket = TokenBucket(rate: 1_000_000, at: 0)
        #expect(bucket.allowance(at: 0) == 0)
        #expect(bucket.allowance(at: 3600 * second) == 100_000)
        #expect(TokenBucket(rate: 100_000, at: 0).burst == .kibibytes(16))
        #expect(TokenBucket(rate: 1000, at: 0).burst == 1000, "a second's worth of a low rate")
        #expect(TokenBucket(rate: 1000, burst: 5, at: 0).burst == 5)
    }

    @Test func aChangeTakesEffectAtOnce() {
        var bucket = TokenBucket(rate: 1_000_000, at: 0)
        bucket.setRate(10_000_000, at: second)
        let before = bucket.allowance(at: second).rawValue
        #expect(before == 100_000)
        #expect(bucket.allowance(at: second + second / 100).rawValue - before == 100_000)
        bucket.setRate(200_000, at: 2 * second)
        #expect(bucket.allowance(at: 2 * second) == 20_000)
    }

    @Test func unlimitedNeverWaits() {
        var bucket = TokenBucket(rate: .unlimited, at: 0)
        #expect(bucket.take(ByteCount(.max), at: 0) == ByteCount(.max))
        #expect(bucket.nextAvailable(at: 7) == 7)
        bucket.setRate(1000, at: second)
        #expect(bucket.allowance(at: second) == 0)
        bucket.setRate(.unlimited, at: second)
        #expect(bucket.allowance(at: second) == ByteCount(.max))
    }

    @Test func timeThatGoesBackGrantsNothing() {
        var bucket = TokenBucket(rate: 1_000_000, at: second)
        #expect(bucket.allowance(at: 0) == 0)
        #expect(bucket.allowance(at: second) == 0)
    }
}
