import Glibc

/// A network namespace with two links to this one. A server here is reachable over both; packets that are not bound take the
/// first.
package final class TwoLinks: Sendable {
    package enum Link: Int { case first, second }

    /// The names of the devices inside, and the address of each.
    package static let devices = ["first0", "second0"]
    package let addresses: [String]
    /// Where a server in the test listens.
    package let server: String
    private let name: String
    private let links: [String]

    package init() async throws {
        let number = Int.random(in: 0..<1000)
        let tag = "\(getpid() % 100_000)x\(number)"
        name = "dle\(tag)"
        links = ["de\(tag)", "df\(tag)"]
        let net = "10.\(130 + number % 50).\(Int(getpid()) % 250)"
        server = "\(net).9"
        addresses = ["\(net).2", "\(net).6"]
        var commands = ["netns add \(name)", "addr add \(server)/32 dev lo", "-n \(name) link set lo up"]
        for (index, (link, device)) in zip(links, Self.devices).enumerated() {
            commands += [
                "link add \(link) type veth peer name \(device) netns \(name)",
                // Without link-local addresses, an idle link carries nothing.
                "link set \(link) addrgenmode none", "-n \(name) link set \(device) addrgenmode none",
                "addr add \(net).\(1 + 4 * index)/30 dev \(link)", "link set \(link) up",
                "-n \(name) addr add \(addresses[index])/30 dev \(device)", "-n \(name) link set \(device) up",
                "-n \(name) route add \(server) via \(net).\(1 + 4 * index) dev \(device) metric \(100 + index)",
            ]
        }
        for command in commands {
            try await Program.require(["ip"] + command.split(separator: " ").map(String.init))
        }
    }

    deinit {
        for command in links.map({ "link del \($0)" }) + ["addr del \(server)/32 dev lo", "netns del \(name)"] {
            if let program = try? Program(["ip"] + command.split(separator: " ").map(String.init)) {
                while program.isRunning { usleep(1000) }
            }
        }
    }

    /// The words before a command that run it inside.
    package var wrapper: [String] { ["ip", "netns", "exec", name] }

    package func set(_ link: Link, up: Bool) async throws {
        try await Program.require(["ip", "link", "set", links[link.rawValue], up ? "up" : "down"])
    }

    /// The bytes that have come over the link from inside.
    package func bytes(_ link: Link) throws -> Int {
        let text = try Files.text("/sys/class/net/\(links[link.rawValue])/statistics/rx_bytes")
        guard let count = Int(text.filter(\.isNumber)) else { throw SupportError("no count of bytes: \(text)") }
        return count
    }
}
