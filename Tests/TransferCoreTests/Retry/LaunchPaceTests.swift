import Testing
import TransferModel

@testable import TransferCore

struct LaunchPaceTests {
    @Test(arguments: [
        (60.0, 0, 60.0), (60, 1, 120), (60, 2, 240), (60, 5, 1920), (60, 6, 3600), (60, 1000, 3600), (0, 0, 1),
        (1, 3, 8), (7200, 0, 7200), (7200, 9, 7200),
    ])
    func failuresDoubleTheTimeUpToAnHour(interval: Double, failures: Int, delay: Double) {
        #expect(LaunchPace.delay(interval: Seconds(interval), failures: failures) == Seconds(delay))
    }

    @Test func aStartThatLiesAheadCountsAsNow() {
        let now = Timestamp(milliseconds: 1_000_000)
        func wait(_ startedAt: Seconds) -> Seconds {
            LaunchPace.wait(startedAt: now.advanced(by: startedAt), interval: 60, failures: 0, now: now)
        }
        #expect(wait(-20) == 40)
        #expect(wait(-60) <= 0)
        #expect(wait(5000) == 60)
    }
}
