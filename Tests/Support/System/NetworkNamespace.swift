import Glibc
import Threading

/// A network namespace connected to this one by a pair of virtual links.
package final class NetworkNamespace: Sendable {
    package let name: String
    /// The address of this side, where a server in the test listens.
    package let hostAddress: String
    private let link: String

    package init() async throws {
        let number = Int.random(in: 0..<1000)
        let tag = "\(getpid() % 100_000)x\(number)"
        name = "dld\(tag)"
        link = "dv\(tag)"
        let peer = "dw\(tag)"
        let net = "10.\(200 + number % 50).\(Int(getpid()) % 250)"
        hostAddress = "\(net).1"
        for command in [
            "netns add \(name)", "link add \(link) type veth peer name \(peer)", "link set \(peer) netns \(name)",
            "addr add \(net).1/30 dev \(link)", "link set \(link) up",
            "-n \(name) addr add \(net).2/30 dev \(peer)", "-n \(name) link set \(peer) up",
            "-n \(name) link set lo up", "-n \(name) route add default via \(net).1",
        ] { try await Program.require(["ip"] + command.split(separator: " ").map(String.init)) }
    }

    deinit {
        for command in [["link", "del", link], ["netns", "del", name]] {
            if let program = try? Program(["ip"] + command) { while program.isRunning { usleep(1000) } }
        }
    }

    /// The words before a command that run it inside.
    package var wrapper: [String] { ["ip", "netns", "exec", name] }

    package func setLink(up: Bool) async throws {
        try await Program.require(["ip", "link", "set", link, up ? "up" : "down"])
    }
}
