import Glibc

/// What a test needs of the machine. Where `DLD_REQUIRE_SERVERS` is 1, absence is a failure rather than a skip.
package enum Requirements {
    package static var areStrict: Bool { getenv("DLD_REQUIRE_SERVERS").map { String(cString: $0) } == "1" }

    /// Whether to run a test that needs these programs: always where absence must fail.
    package static func has(_ programs: String...) -> Bool {
        areStrict || programs.allSatisfy { Program.find($0) != nil }
    }

    package static var isRoot: Bool { geteuid() == 0 }

    /// Mounts and network namespaces need root with its capabilities.
    package static var mayAdministrate: Bool { isRoot && canUnshare }

    private static let canUnshare: Bool = {
        guard isRoot, let unshare = Program.find("unshare") else { return false }
        guard let program = try? Program([unshare, "--net", "--mount", "true"]) else { return false }
        while program.isRunning { usleep(1000) }
        return program.exitStatus == 0
    }()
}

/// A small tmpfs, unmounted with its object.
package final class SmallDisk: Sendable {
    package let path: String
    private let folder: TemporaryFolder

    /// - Parameter size: as mount takes it, such as `10m`.
    package init(size: String) throws {
        folder = try TemporaryFolder()
        path = try folder.folder("disk")
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(size),mode=0777") == 0 else {
            throw SupportError("mount: errno \(errno)")
        }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Takes room away; freed by removing the file.
    package func fill(_ name: String, bytes: Int) throws {
        try Files.write(path + "/" + name, [UInt8](repeating: 0x55, count: bytes))
    }
}

/// A network namespace that a pair of virtual links connects with this one.
package final class NetworkNamespace: Sendable {
    package let name: String
    /// Address of this side, where a server in the test listens.
    package let hostAddress: String
    private let link: String
    private static let counter = Locked(0)

    package init() async throws {
        let number = Self.counter.withLock { counter -> Int in
            counter += 1
            return counter
        }
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

    /// What to put before a command so that it runs inside.
    package var wrapper: [String] { ["ip", "netns", "exec", name] }

    package func setLink(up: Bool) async throws {
        try await Program.require(["ip", "link", "set", link, up ? "up" : "down"])
    }
}
