import Testing

@testable import DaemonSetup

@Suite struct WatchdogTests {
    @Test func aSignOfLifeIsDueTwiceInTheTimeOut() {
        let watchdog = Watchdog(environment: ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"], process: 42)
        #expect(watchdog?.timeout == 30)
        #expect(watchdog?.interval == 15)
        #expect(Watchdog(environment: ["WATCHDOG_USEC": "500000"])?.interval == 0.25)
    }

    @Test(arguments: [
        [:], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "soon"], ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"],
    ])
    func noneIsAskedFor(environment: [String: String]) {
        #expect(Watchdog(environment: environment, process: 42) == nil)
    }
}
