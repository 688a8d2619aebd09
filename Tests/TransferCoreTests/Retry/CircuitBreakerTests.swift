import Testing
import TransferModel

@testable import TransferCore

struct CircuitBreakerTests {
    private func opened() -> CircuitBreaker {
        var breaker = CircuitBreaker()
        for task in 1...5 { breaker.attemptFailed(TaskID(Int64(task % 2 + 1)), at: reading()) }
        return breaker
    }

    /// In seconds after the breaker opened.
    private func next(_ breaker: CircuitBreaker) -> Double? {
        breaker.nextProbeAt.map { Double($0 - reading(0).boot) / 1000 }
    }

    @Test func opensAfterFiveFailuresOfTwoTasks() {
        var breaker = CircuitBreaker()
        for count in 1...5 {
            #expect(!breaker.isOpen)
            breaker.attemptFailed(TaskID(count == 1 ? 1 : 2), at: reading())
        }
        #expect(breaker.isOpen)
    }

    @Test func oneTaskAloneNeverOpensIt() {
        var breaker = CircuitBreaker()
        for _ in 0..<50 { breaker.attemptFailed(TaskID(1), at: reading()) }
        #expect(!breaker.isOpen)
    }

    @Test func anAnswerStartsTheCountAgain() {
        var breaker = CircuitBreaker()
        for task in 1...4 { breaker.attemptFailed(TaskID(Int64(task)), at: reading()) }
        breaker.answered()
        #expect(breaker.isFresh)
        breaker.attemptFailed(TaskID(9), at: reading())
        #expect(!breaker.isOpen)
    }

    @Test func theFirstProbeComesSoonAndTheIntervalRisesToAMinute() {
        var breaker = opened()
        var (time, waits) = (0.0, [Double]())
        for task in 10..<20 {
            let probe = next(breaker) ?? 0
            waits.append(probe - time)
            time = probe
            breaker.attemptStarted(TaskID(Int64(task)), at: reading(time))
            breaker.attemptFailed(TaskID(Int64(task)), at: reading(time + 1))
        }
        #expect(waits == [5, 10, 20, 40, 60, 60, 60, 60, 60, 60])
    }

    @Test func failuresOfAttemptsThatBeganBeforeDoNotPushTheProbeAway() {
        var breaker = opened()
        for task in 1...50 { breaker.attemptFailed(TaskID(Int64(task)), at: reading(4)) }
        #expect(next(breaker) == 5)
    }

    @Test func aStartThatWasAdmittedBeforeItOpenedIsNoProbe() {
        var breaker = opened()
        for task in 10..<15 { breaker.attemptStarted(TaskID(Int64(task)), at: reading(-0.1)) }
        breaker.attemptEnded(TaskID(14), at: reading(1))
        #expect(next(breaker) == 5)
        breaker.attemptStarted(TaskID(15), at: reading(5))
        #expect(next(breaker) == 15, "it is the first")
    }

    /// The task that hangs is still running when the next one probes.
    @Test func aProbeThatHangsHoldsNobodyBeyondItsInterval() {
        var breaker = opened()
        breaker.attemptStarted(TaskID(10), at: reading(5))
        #expect(next(breaker) == 15)
        breaker.attemptStarted(TaskID(11), at: reading(15))
        #expect(next(breaker) == 35)
        breaker.attemptFailed(TaskID(10), at: reading(16))
        #expect(next(breaker) == 35)
    }

    @Test func aProbeThatSaidNothingIsReplacedAtOnce() {
        var breaker = opened()
        breaker.attemptStarted(TaskID(10), at: reading(5))
        breaker.attemptEnded(TaskID(11), at: reading(6))
        #expect(next(breaker) == 15)
        breaker.attemptEnded(TaskID(10), at: reading(7))
        #expect(next(breaker) == 7)
        breaker.attemptStarted(TaskID(12), at: reading(7))
        #expect(next(breaker) == 17, "the interval has not risen")
    }

    @Test func aRefusalLetsAllTryAndTheNextSilenceHoldsThemAgain() {
        var breaker = opened()
        breaker.refused()
        #expect(!breaker.isOpen)
        breaker.attemptFailed(TaskID(1), at: reading(9))
        #expect(next(breaker) == 14)
        var closed = CircuitBreaker()
        for _ in 0..<9 { closed.refused() }
        #expect(closed.isFresh)
    }

    @Test func whatWasBeforeARefusalCountsNoMore() {
        var breaker = opened()
        for time in [5.0, 15, 35] { breaker.attemptStarted(TaskID(10), at: reading(time)) }
        breaker.refused()
        breaker.attemptFailed(TaskID(1), at: reading(40))
        #expect(next(breaker) == 45, "the interval begins anew")
        // The task was a probe once, but its current run began while the breaker was closed.
        breaker.attemptEnded(TaskID(10), at: reading(41))
        #expect(next(breaker) == 45)
    }

    @Test func aClientMayAskForAProbe() {
        var breaker = opened()
        breaker.probeNow(at: reading(1))
        #expect(next(breaker) == 1)
        var closed = CircuitBreaker()
        closed.probeNow(at: reading(1))
        #expect(!closed.isOpen)
    }
}
