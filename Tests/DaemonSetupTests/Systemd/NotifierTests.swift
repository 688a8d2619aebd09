import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonSetup
@testable import FileKit

@Suite struct NotifierTests {
    /// Both forms of address: a path, and a name in the abstract namespace.
    @Test(arguments: [false, true])
    func messagesReachTheManager(isAbstract: Bool) throws {
        let folder = try TemporaryFolder()
        let address = isAbstract ? "@dld-notify-\(UUID().uuidString)" : folder.file("notify")
        let manager = try #require(BoundSocket(address, type: SOCK_DGRAM))
        let notifier = Notifier(environment: ["NOTIFY_SOCKET": address])
        notifier.ready(status: "serving")
        #expect(manager.receive() == "READY=1\nSTATUS=serving\nMAINPID=\(getpid())")
        notifier.watchdog()
        #expect(manager.receive() == "WATCHDOG=1")
        notifier.stopping(status: "3 transfers are checkpointed")
        #expect(manager.receive() == "STOPPING=1\nSTATUS=3 transfers are checkpointed")
    }

    @Test func aReloadCarriesTheMonotonicTime() throws {
        let address = "@dld-notify-\(UUID().uuidString)"
        let manager = try #require(BoundSocket(address, type: SOCK_DGRAM))
        let before = monotonicMicroseconds()
        Notifier(environment: ["NOTIFY_SOCKET": address]).reloading()
        let after = monotonicMicroseconds()
        let lines = try #require(manager.receive()).split(separator: "\n")
        #expect(lines.first == "RELOADING=1")
        let time = try #require(lines.last?.split(separator: "=").last.flatMap { Int64($0) })
        #expect((before...after).contains(time))
    }

    /// Otherwise a status text could set any variable, such as another main process.
    @Test func aLineBreakInAStatusBeginsNoAssignment() throws {
        let address = "@dld-notify-\(UUID().uuidString)"
        let manager = try #require(BoundSocket(address, type: SOCK_DGRAM))
        Notifier(environment: ["NOTIFY_SOCKET": address]).status("a\nMAINPID=1")
        #expect(manager.receive() == "STATUS=a MAINPID=1")
    }

    @Test(arguments: ["", "relative", "@", "/" + String(repeating: "p", count: 108)])
    func anUnusableAddressIsIgnored(address: String) {
        #expect(!Notifier(environment: ["NOTIFY_SOCKET": address]).isConnected)
    }

    @Test func withoutAManagerNothingIsSent() {
        #expect(!Notifier(environment: [:]).isConnected)
    }

    /// A manager that does not read fills its queue. Sending must not wait for it.
    @Test(.timeLimit(.minutes(4))) func aManagerThatDoesNotReadStopsNobody() throws {
        let address = "@dld-notify-\(UUID().uuidString)"
        let manager = try #require(BoundSocket(address, type: SOCK_DGRAM))
        let notifier = Notifier(environment: ["NOTIFY_SOCKET": address])
        for _ in 0..<20000 { notifier.watchdog() }
        #expect(manager.receive() == "WATCHDOG=1")
    }

    private func monotonicMicroseconds() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    }
}
