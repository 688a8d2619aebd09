import Testing
import TransferModel

@testable import TransferCore

struct ConnectionPaceTests {
    /// Simulates `seconds` in which each connection brings its share of the `rate` for the number of connections.
    private func run(
        _ pace: inout ConnectionPace, seconds: Int, rest: Int64 = 1 << 40, spare: Int = 8,
        rate: (Int) -> Int64
    ) {
        var received: Int64 = 0
        for second in 1...seconds {
            let running = pace.allowed(0)
            received += rate(running)
            pace.sampled(
                received: ByteCount(received), rest: ByteCount(rest), running: running, spare: spare,
                at: Int64(second) * 1000)
        }
    }

    @Test func opensAtOnceWhatWasAskedFor() {
        let pace = ConnectionPace(.fixed(16), at: 0)
        #expect(pace.allowed(0) == 16 && pace.allowed(7) == 16)
        #expect(ConnectionPace(.fixed(1000), at: 0).allowed(0) == ConnectionPolicy.limit)
    }

    @Test func takesMoreOnlyWhereTheyAreFaster() {
        var limited = ConnectionPace(.automatic, at: 0)
        #expect(limited.allowed(0) == 1)
        run(&limited, seconds: 20) { Int64($0) * 1_000_000 }
        #expect(limited.allowed(0) == ConnectionPolicy.adaptiveLimit)

        var shared = ConnectionPace(.automatic, at: 0)
        run(&shared, seconds: 20) { _ in 1_000_000 }
        #expect(shared.allowed(0) == 1)
    }

    @Test func goesBackWhereTheSecondStepBringsNothing() {
        var pace = ConnectionPace(.automatic, at: 0)
        run(&pace, seconds: 20) { Int64(min($0, 2)) * 1_000_000 }
        #expect(pace.allowed(0) == 2)
    }

    @Test func opensNothingForAShortRest() {
        var pace = ConnectionPace(.automatic, at: 0)
        run(&pace, seconds: 20, rest: 7_000_000) { Int64($0) * 1_000_000 }
        #expect(pace.allowed(0) == 1)
    }

    @Test func leavesAHostInPeaceThatHasEnough() {
        var pace = ConnectionPace(.automatic, at: 0)
        run(&pace, seconds: 20, spare: 0) { Int64($0) * 1_000_000 }
        #expect(pace.allowed(0) == 1)
    }

    @Test func keepsToWhatTheServerTook() {
        var pace = ConnectionPace(.fixed(16), at: 0)
        pace.failed(4, retryAfter: nil, at: 0)
        #expect(pace.allowed(4) == 4)
        pace.sampled(received: 0, rest: 100, running: 4, spare: 0, at: 999)
        #expect(pace.allowed(4) == 4)
        pace.sampled(received: 0, rest: 100, running: 4, spare: 0, at: 1000)
        #expect(pace.allowed(4) == 5)
        pace.failed(4, retryAfter: nil, at: 1000)
        pace.sampled(received: 0, rest: 100, running: 4, spare: 0, at: 2999)
        #expect(pace.allowed(4) == 4, "the second refusal costs twice the time")
        pace.sampled(received: 0, rest: 100, running: 4, spare: 0, at: 3000)
        #expect(pace.allowed(4) == 5)
        pace.accepted(at: 3100)
        pace.sampled(received: 0, rest: 100, running: 5, spare: 0, at: 3500)
        #expect(pace.allowed(5) == 6, "a connection that works invites the next")
    }

    @Test func honoursRetryAfter() {
        var pace = ConnectionPace(.fixed(8), at: 0)
        pace.failed(1, retryAfter: 30, at: 0)
        pace.sampled(received: 0, rest: 100, running: 1, spare: 0, at: 29_999)
        #expect(pace.allowed(1) == 1)
        pace.sampled(received: 0, rest: 100, running: 1, spare: 0, at: 30_000)
        #expect(pace.allowed(1) == 2)
    }

    @Test func givesUpAfterManyFailures() {
        var (pace, now) = (ConnectionPace(.fixed(8), at: 0), Int64(0))
        for _ in 0..<ConnectionPace.failureLimit {
            pace.failed(1, retryAfter: nil, at: now)
            now += 100_000
            pace.sampled(received: 0, rest: 100, running: 1, spare: 0, at: now)
        }
        #expect(pace.allowed(1) == 1)
    }

    @Test func neverOpensAgainWhereThereAreNoParts() {
        var pace = ConnectionPace(.fixed(8), at: 0)
        pace.stop()
        #expect(pace.allowed(3) == 3 && pace.allowed(0) == 0)
    }
}
