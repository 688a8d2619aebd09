import Testing

@testable import DaemonKit

struct NetworkMonitorTests {
    @Test(arguments: ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]", ""])
    func theLoopbackIsReachableWithoutAnyNetwork(host: String) {
        #expect(NetworkState(isUp: false).isReachable(host: host))
    }

    @Test(arguments: ["example.org", "localhost.example.org", "host"])
    func aNameNeedsAnyNetwork(host: String) {
        #expect(!NetworkState(isUp: false).isReachable(host: host))
        #expect(NetworkState(isUp: true).isReachable(host: host))
    }

    @Test func aMonitorTellsTheStateAndEnds() async {
        var monitor: NetworkMonitor? = NetworkMonitor()
        #expect(monitor?.state == NetworkState.current())
        let changes = monitor?.changes
        monitor = nil
        // The stream ends with its monitor. Anything reported before comes first.
        if let changes { for await _ in changes {} }
        #expect(monitor == nil)
    }
}
