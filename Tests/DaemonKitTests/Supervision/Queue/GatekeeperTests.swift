import Testing
import TransferCore
import TransferModel

@testable import DaemonKit

struct GatekeeperTests {
    /// Each dispatcher has its own lanes to release. If one learns of a released host, the others learn of it too and
    /// are woken.
    @Test func everyDispatcherHearsOfAReleasedHost() {
        let (time, signal) = (ManualTime(), SupervisionSignal())
        let gates = Gatekeeper(time: time, signal: signal)
        let (first, second) = (gates.addDispatcher(), gates.addDispatcher())
        let news = signal.listen(to: .queue)
        let host = "https://example.org:443"
        for task in 1...5 {
            gates.report(.failed, host: host, owner: UserID(1), task: TaskID(Int64(task)), startedAt: 0)
        }
        #expect(gates.takeReleased(by: first, at: time.reading()) == [] && news.take() == [])
        time.advance(3600)
        let now = time.reading()
        #expect(gates.takeReleased(by: first, at: now) == [host] && news.take() == .queue)
        #expect(gates.takeReleased(by: first, at: now) == [])
        #expect(gates.takeReleased(by: second, at: now) == [host])
        #expect(gates.takeReleased(by: second, at: now) == [] && news.take() == [])
        gates.putBack([host], by: second)
        #expect(gates.takeReleased(by: first, at: now) == [])
        #expect(gates.takeReleased(by: second, at: now) == [host])
    }

    /// A probe's slot may be free, and the lanes of its host held again, before its end shows that the host answers.
    /// Nothing else would wake the dispatcher.
    @Test(arguments: [HostGates.Report.answered, .refused]) func anAnswerOfAHeldHostIsHeard(
        _ answer: HostGates.Report
    ) {
        let (time, signal) = (ManualTime(), SupervisionSignal())
        let gates = Gatekeeper(time: time, signal: signal)
        let dispatcher = gates.addDispatcher()
        let news = signal.listen(to: .queue)
        let host = "https://example.org:443"
        func report(_ report: HostGates.Report, _ task: Int64) {
            gates.report(report, host: host, owner: UserID(1), task: TaskID(task), startedAt: 0)
        }
        report(answer, 1)
        for task in 1...5 { report(.failed, Int64(task)) }
        #expect(news.take() == [])
        report(answer, 6)
        #expect(news.take() == .queue)
        #expect(gates.takeReleased(by: dispatcher, at: time.reading()) == [host])
        report(answer, 7)
        #expect(news.take() == [])
    }
}
