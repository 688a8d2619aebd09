import Glibc

/// What a test needs from the machine. If `DLD_REQUIRE_SERVERS` is 1, a missing program is a failure instead of a skip.
package enum Requirements {
    package static var areStrict: Bool { getenv("DLD_REQUIRE_SERVERS").map { String(cString: $0) } == "1" }

    /// Tells whether to run a test that needs these programs: always if a missing program must fail.
    package static func has(_ programs: String...) -> Bool {
        areStrict || programs.allSatisfy { Program.find($0) != nil }
    }

    /// Tells whether to run a test that needs a server of requirements.txt.
    package static var hasPythonServers: Bool { areStrict || PythonEnvironment.isInstalled }

    /// Tells whether to run a test that needs services on a private bus (`MachineBus`).
    package static var hasMachineBus: Bool {
        let modules = ["dbus", "gi"].map { "/usr/lib/python3/dist-packages/\($0)/__init__.py" }
        return areStrict || Program.find("dbus-daemon") != nil && modules.allSatisfy(Files.exists)
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

/// A small tmpfs, unmounted together with its object.
package final class SmallDisk: Sendable {
    package let path: String
    private let folder: TemporaryFolder

    /// - Parameters:
    ///   - size: in the form of mount, such as `10m`.
    ///   - inodes: the most files and folders, including the top folder.
    package init(size: String, inodes: Int? = nil) throws {
        folder = try TemporaryFolder()
        path = try folder.folder("disk")
        let most = inodes.map { ",nr_inodes=\($0)" } ?? ""
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(size),mode=0777\(most)") == 0 else {
            throw SupportError("mount: errno \(errno)")
        }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Takes space. Remove the file to free it.
    package func fill(_ name: String, bytes: Int) throws {
        try Files.write(path + "/" + name, [UInt8](repeating: 0x55, count: bytes))
    }
}
