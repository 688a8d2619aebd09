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
}
