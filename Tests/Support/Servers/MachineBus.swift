import Glibc
import Threading

/// A system bus for a test, with NetworkManager, UPower and logind as `machine.py` plays them. None of them is there
/// until the test says so.
package final class MachineBus: Sendable {
    private let folder: TemporaryFolder
    /// The bus, and the program that has the services.
    private let programs = Guarded<[Program]>([])

    /// - Throws: `SupportError` if the folder or a file in it cannot be made.
    package init() throws {
        folder = try TemporaryFolder()
        let services = try folder.folder("services")
        for name in ["NetworkManager", "UPower", "login1"] {
            try Files.write(
                "\(services)/\(name).service",
                "[D-BUS Service]\nName=org.freedesktop.\(name)\nExec=/usr/bin/touch \(folder.file("started"))\n")
        }
        try Files.write(
            folder.file("bus.conf"),
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>\(address)</listen>
              <servicedir>\(services)</servicedir>
              <policy context="default">
                <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
              </policy>
            </busconfig>
            """)
        guard mkfifo(commands, 0o600) == 0 else { throw SupportError("mkfifo \(commands): errno \(errno)") }
    }

    package static func started() async throws -> MachineBus {
        let machine = try MachineBus()
        try await machine.start()
        return machine
    }

    package var address: String { "unix:path=" + folder.file("bus") }
    /// Of programs that are to use this bus as that of the system.
    package var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": address] }
    private var commands: String { folder.file("commands") }

    /// What the services were asked, gave and were told, in order.
    package var lines: [String] {
        ((try? Files.text(folder.file("log"))) ?? "").split(separator: "\n").map(String.init)
    }

    /// Tells whether the bus has started a service, because somebody has asked for one that was not there.
    package var hasStartedService: Bool { Files.exists(folder.file("started")) }

    /// Starts the bus, and the program that has the services.
    package func start() async throws {
        let bus = try Program(
            ["dbus-daemon", "--config-file", folder.file("bus.conf"), "--nofork", "--nopidfile"],
            output: folder.file("bus.log"))
        let listens = await eventually(within: 20) { Files.exists(folder.file("bus")) || !bus.isRunning }
        guard listens, bus.isRunning else {
            throw SupportError("dbus-daemon does not listen: \(try Files.text(folder.file("bus.log")))")
        }
        let before = count { $0.hasPrefix("ready") }
        let services = try Program(
            ["/usr/bin/python3", try PythonEnvironment.script("machine.py"), address, commands],
            output: folder.file("log"))
        guard await eventually(within: 20, { count { $0.hasPrefix("ready") } > before || !services.isRunning }),
            services.isRunning
        else { throw SupportError("machine.py does not start: \(lines.suffix(20))") }
        programs.withLock { $0 = [bus, services] }
    }

    /// Kills the bus and the services with kill -9.
    package func kill() async throws {
        let running = programs.withLock { programs in
            defer { programs = [] }
            return programs
        }
        for program in running { try await program.killNow() }
        unlink(folder.file("bus"))
    }

    /// Gives a command of `machine.py`, and returns when it is carried out.
    package func say(_ command: String) async throws {
        let before = count { $0 == "done " + command }
        // Open for reading too, so that it does not wait for a reader.
        let descriptor = open(commands, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        let line = Array((command + "\n").utf8)
        guard write(descriptor, line, line.count) == line.count else { throw SupportError("write: errno \(errno)") }
        guard await eventually(within: 60, { count { $0 == "done " + command } > before }) else {
            throw SupportError("machine.py does not \(command): \(lines.suffix(20))")
        }
    }

    /// Waits for a line that begins so.
    package func hears(_ beginning: String, times: Int = 1) async -> Bool {
        await eventually { count { $0.hasPrefix(beginning) } >= times }
    }

    package func count(_ condition: (String) -> Bool) -> Int { lines.count(where: condition) }

    /// The locks that are held.
    package func locks() async throws -> [String] {
        try await say("locks")
        let line = lines.last { $0.hasPrefix("locks") } ?? ""
        return line.split(separator: ",").dropFirst().map(String.init)
    }
}
