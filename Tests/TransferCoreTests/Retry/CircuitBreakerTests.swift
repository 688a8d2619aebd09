import Testing
import TransferModel

@testable import TransferCore

struct CircuitBreakerTests {
    private let host = "https://example.org:443"

    private func opened(at time: Double = 0) -> CircuitBreaker {
        var breaker = CircuitBreaker()
        for task in 1...5 { breaker.recordFailure(host: host, task: TaskID(Int64(task % 2 + 1)), at: reading(time)) }
        return breaker
    }

    @Test func opensAfterFiveFailuresOfTwoTasks() {
        var breaker = CircuitBreaker()
        for count in 1...5 {
            #expect(!breaker.isOpen(host: host))
            breaker.recordFailure(host: host, task: TaskID(count == 1 ? 1 : 2), at: reading())
        }
        #expect(breaker.isOpen(host: host))
        #expect(!breaker.isOpen(host: "https://other.org:443"))
    }

    @Test func oneTaskAloneNeverOpensIt() {
        var breaker = CircuitBreaker()
        for _ in 0..<50 { breaker.recordFailure(host: host, task: TaskID(1), at: reading()) }
        #expect(breaker.allows(host: host, task: TaskID(2), at: reading()))
    }

    @Test func successInBetweenStartsTheCountAgain() {
        var breaker = CircuitBreaker()
        for task in 1...4 { breaker.recordFailure(host: host, task: TaskID(Int64(task)), at: reading()) }
        breaker.recordSuccess(host: host)
        breaker.recordFailure(host: host, task: TaskID(9), at: reading())
        #expect(!breaker.isOpen(host: host))
    }

    @Test func letsOneProbeThrough() {
        var breaker = opened()
        #expect(!breaker.allows(host: host, task: TaskID(10), at: reading()))
        #expect(breaker.allows(host: host, task: TaskID(10), at: reading(1)))
        breaker.started(host: host, task: TaskID(10))
        #expect(!breaker.allows(host: host, task: TaskID(11), at: reading(1000)))
        breaker.ended(host: host, task: TaskID(10))
        #expect(breaker.allows(host: host, task: TaskID(11), at: reading(1000)))
    }

    @Test func aFailedProbeWaitsLongerEachTime() {
        var breaker = opened()
        var (time, waits) = (0.0, [Double]())
        for task in 10..<25 {
            let next = Double((breaker.nextProbe(host: host) ?? 0) - reading(0).boot) / 1000
            waits.append(next - time)
            time = next
            breaker.started(host: host, task: TaskID(Int64(task)))
            breaker.recordFailure(host: host, task: TaskID(Int64(task)), at: reading(time))
        }
        #expect(waits.prefix(4) == [1, 2, 4, 8])
        #expect(waits.last == 600)
    }

    @Test func aTaskIsNeverHeldBeyondItsOwnBackOff() {
        let breaker = opened()
        #expect(breaker.allows(host: host, task: TaskID(1), at: reading()))
        #expect(breaker.allows(host: host, task: TaskID(2), at: reading()))
    }

    @Test func anAnswerOpensTheGate() {
        var breaker = opened()
        breaker.recordSuccess(host: host)
        #expect(breaker.allows(host: host, task: TaskID(77), at: reading()))
        #expect(breaker.nextProbe(host: host) == nil)
    }

    @Test func anAnswerCountsOnlyWhereTheHostIsHeld() {
        var breaker = opened()
        breaker.started(host: host, task: TaskID(10))
        let wasHeld = breaker.recordAnswer(host: host)
        #expect(wasHeld && breaker.allows(host: host, task: TaskID(77), at: reading()))
        #expect(breaker.takeReleased(at: reading()) == [host])
        for count in 1...5 {
            // Its bodies never come whole: that is a failing host all the same.
            let isHeld = breaker.recordAnswer(host: host)
            #expect(!isHeld)
            breaker.recordFailure(host: host, task: TaskID(Int64(count)), at: reading())
        }
        #expect(breaker.isOpen(host: host))
    }

    @Test func aHostIsReleasedOnceWhenItMayBeProbed() {
        var breaker = opened()
        #expect(breaker.isHeld(host: host, at: reading()) && breaker.takeReleased(at: reading()) == [])
        #expect(breaker.nextProbe() == reading(1).boot)
        #expect(breaker.takeReleased(at: reading(1)) == [host] && breaker.nextProbe() == nil)
        #expect(!breaker.isHeld(host: host, at: reading(1)) && breaker.takeReleased(at: reading(2)) == [])
        breaker.putBack([host])
        #expect(breaker.takeReleased(at: reading(2)) == [host])
        breaker.started(host: host, task: TaskID(10))
        #expect(breaker.isHeld(host: host, at: reading(2)))
        breaker.recordFailure(host: host, task: TaskID(10), at: reading(3))
        #expect(breaker.nextProbe() == reading(5).boot && breaker.takeReleased(at: reading(4)) == [])
        #expect(breaker.takeReleased(at: reading(5)) == [host])
    }

    @Test func aHostIsReleasedWhenItAnswersAndWhenItsProbeSaidNothing() {
        var breaker = opened()
        breaker.started(host: host, task: TaskID(10))
        breaker.ended(host: host, task: TaskID(11))
        #expect(breaker.takeReleased(at: reading()) == [])
        _ = breaker.takeReleased(at: reading(1))
        breaker.ended(host: host, task: TaskID(10))
        #expect(breaker.takeReleased(at: reading(1)) == [host])
        breaker.recordSuccess(host: host)
        #expect(breaker.takeReleased(at: reading(1)) == [host])
        // What was noted for it means nothing any more.
        #expect(breaker.nextProbe() == nil && breaker.takeReleased(at: reading(1000)) == [])
        breaker.recordSuccess(host: host)
        #expect(breaker.takeReleased(at: reading(1000)) == [])
    }

    /// Who has its own back-off behind it tries before the host's time, is stopped, and others still wait for that time.
    @Test func aProbeThatWasStoppedBeforeTheHostsTimeLosesNothing() {
        var breaker = opened()
        breaker.started(host: host, task: TaskID(1))
        #expect(breaker.nextProbe() == nil)
        breaker.ended(host: host, task: TaskID(1))
        #expect(breaker.isHeld(host: host, at: reading()) && breaker.takeReleased(at: reading()) == [])
        #expect(breaker.nextProbe() == reading(1).boot)
        #expect(breaker.takeReleased(at: reading(1)) == [host])
    }

    @Test func whoFailedInAnEarlierLifeIsNotHeldEither() {
        let breaker = opened()
        #expect(breaker.permission(host: host, task: TaskID(50), hasFailed: true, at: reading()) == .free)
        #expect(breaker.permission(host: host, task: TaskID(50), at: reading()) == .held)
        #expect(breaker.permission(host: host, task: TaskID(50), at: reading(1)) == .asProbe)
    }

    @Test func forgottenHostsAreReleased() {
        var breaker = opened(at: 0)
        _ = breaker.takeReleased(at: reading(1))
        for number in 0...CircuitBreaker.rememberedHosts {
            breaker.recordFailure(host: "http://h\(number):80", task: TaskID(1), at: reading(10_000))
        }
        #expect(breaker.takeReleased(at: reading(10_000)) == [host])
    }

    @Test func forgetsHostsThatWereQuietForLong() {
        var breaker = opened(at: 0)
        for number in 0...CircuitBreaker.rememberedHosts {
            breaker.recordFailure(host: "http://h\(number):80", task: TaskID(1), at: reading(10_000))
        }
        #expect(!breaker.isOpen(host: host))
    }
}
