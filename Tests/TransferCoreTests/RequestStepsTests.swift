import Testing
import TransferCore
import TransferModel

@Suite struct RequestStepsTests {
    typealias Interval = ExchangeMetrics.Interval

    /// Returns the metrics of an exchange that ended after 1000 µs, with the steps that `change` sets.
    private func metrics(_ change: (inout RequestSteps) -> Void) -> ExchangeMetrics {
        var steps = RequestSteps(ended: 1000)
        change(&steps)
        var metrics = ExchangeMetrics(fetchStart: 0)
        metrics.set(steps)
        return metrics
    }

    /// A new connection with TLS, as libcurl reports it.
    private func whole(_ steps: inout RequestSteps) {
        (steps.queued, steps.lookedUp, steps.connected, steps.secured) = (10, 20, 40, 90)
        (steps.madeConnection, steps.isSecure) = (true, true)
        (steps.requested, steps.sent, steps.answered) = (100, 150, 300)
    }

    @Test func aNewConnectionHasEveryStep() {
        let metrics = metrics(whole)
        #expect(metrics.domainLookup == Interval(10, 20))
        #expect(metrics.connect == Interval(20, 40))
        #expect(metrics.secureConnection == Interval(40, 90))
        #expect(metrics.request == Interval(100, 150))
        #expect(metrics.response == Interval(300, 1000))
        #expect(!metrics.isReused)
    }

    @Test func aReusedConnectionHasNoneOfItsOwn() {
        let metrics = metrics { steps in
            whole(&steps)
            steps.madeConnection = false
        }
        #expect(metrics.isReused)
        #expect(metrics.domainLookup == nil && metrics.connect == nil && metrics.secureConnection == nil)
        #expect(metrics.request == Interval(100, 150) && metrics.response == Interval(300, 1000))
    }

    @Test func plainHTTPHasNoSecureConnection() {
        let metrics = metrics { steps in
            whole(&steps)
            (steps.secured, steps.isSecure) = (0, false)
        }
        #expect(metrics.connect == Interval(20, 40) && metrics.secureConnection == nil)
    }

    /// How far the exchange came, and in which step it ended.
    @Test func aFailureHasWhatItHad() {
        let lookup = metrics { $0.hasFailed = true }
        #expect(lookup.domainLookup == Interval(0, 1000))
        #expect(lookup.connect == nil && lookup.request == nil && lookup.response == nil && !lookup.isReused)

        let refused = metrics { ($0.lookedUp, $0.hasFailed) = (20, true) }
        #expect(refused.domainLookup == Interval(0, 20))
        #expect(refused.connect == Interval(20, 1000) && refused.secureConnection == nil && refused.request == nil)

        let untrusted = metrics { steps in
            whole(&steps)
            (steps.secured, steps.requested, steps.sent, steps.answered) = (0, nil, nil, nil)
            steps.hasFailed = true
        }
        #expect(untrusted.connect == Interval(20, 40) && untrusted.secureConnection == Interval(40, 1000))
        #expect(untrusted.request == nil)

        let unanswered = metrics { steps in
            whole(&steps)
            (steps.answered, steps.hasFailed) = (nil, true)
        }
        #expect(unanswered.request == Interval(100, 150) && unanswered.response == nil)
    }

    @Test func whatWasStoppedInTheQueueHasNothing() {
        let metrics = metrics { _ in }
        #expect(metrics == ExchangeMetrics(fetchStart: 0))
    }

    @Test func whatWasStoppedWhileItConnectedHasThat() {
        let metrics = metrics { ($0.lookedUp, $0.madeConnection) = (20, true) }
        #expect(metrics.connect == Interval(20, 1000))
    }

    @Test func stepsNeverGoBackOrBeyondTheEnd() {
        let metrics = metrics { steps in
            whole(&steps)
            (steps.requested, steps.sent, steps.answered) = (80, 2000, 70)
        }
        #expect(metrics.secureConnection == Interval(40, 90))
        #expect(metrics.request == Interval(90, 1000))
        #expect(metrics.response == Interval(80, 1000))
    }

    @Test func anAnswerMayComeBeforeTheBodyIsSent() {
        let metrics = metrics { steps in
            whole(&steps)
            (steps.sent, steps.answered) = (900, 300)
        }
        #expect(metrics.request == Interval(100, 900) && metrics.response == Interval(300, 1000))
    }
}
