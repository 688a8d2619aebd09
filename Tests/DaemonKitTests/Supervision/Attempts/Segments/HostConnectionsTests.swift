import Testing
import TransferCore

@testable import DaemonKit

@Suite struct HostConnectionsTests {
    @Test func countsEachHostApart() {
        let hosts = HostConnections()
        #expect(hosts.spare("a") == ConnectionPolicy.adaptiveLimit)
        hosts.opened("a")
        hosts.opened("a")
        hosts.opened("b")
        #expect(hosts.spare("a") == ConnectionPolicy.adaptiveLimit - 2)
        #expect(hosts.spare("b") == ConnectionPolicy.adaptiveLimit - 1)
        hosts.closed("a")
        hosts.closed("a")
        hosts.closed("a")
        #expect(hosts.spare("a") == ConnectionPolicy.adaptiveLimit)
    }

    @Test func aHostWithMoreThanThatHasNoneToSpare() {
        let hosts = HostConnections()
        for _ in 0..<16 { hosts.opened("a") }
        #expect(hosts.spare("a") == 0)
    }
}
