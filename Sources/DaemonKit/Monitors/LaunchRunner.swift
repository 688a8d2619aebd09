import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Starts the programs of sessions. Simulations have their own implementation.
package protocol ProgramStarting: Sendable {
    /// Refuses what `session.open` must not configure.
    /// - Throws: `request.bad_field`, `permission.denied`.
    func validate(_ launch: LaunchSpec) throws(TransferError)

    /// Creates the process, which does nothing before `begin`.
    /// - Throws: if it cannot be started.
    func prepare(
        _ launch: LaunchSpec, for session: SessionKey, subscriber: String
    ) throws(TransferError) -> any PreparedProgram

    /// Tells whether the program runs, no matter which daemon started it.
    func isRunning(_ program: ProgramIdentity) -> Bool
}

/// A process that has not become its program yet. It ends if its daemon dies first.
package protocol PreparedProgram: Sendable {
    var identity: ProgramIdentity { get }
    /// - Parameter ended: gets the exit status, or 128 plus the signal that ended the program, or -1 if that is not
    ///   known.
    func begin(ended: @escaping @Sendable (Int32) -> Void)
    func abandon()
}

/// Starts what a session has configured for events that wait while nobody is connected: a systemd unit or, in user
/// mode, a command.
package struct LaunchRunner: ProgramStarting {
    package enum Mode: Sendable, Hashable {
        /// `systemctl --user start`, or a command.
        case user
        /// `systemctl start`, for the units that the administrator allowed.
        case system(allowedUnits: Set<String>)
    }

    private let mode: Mode
    private let environment: [String: String]
    private let systemctl: String

    /// - Parameters:
    ///   - environment: the daemon's environment; a program gets only what a user's program needs.
    ///   - socket: the daemon's socket, for the child's `DLD_SOCKET`.
    ///   - systemctl: searched in PATH if it has no slash.
    package init(
        mode: Mode, environment: [String: String], socket: String?, systemctl: String = "systemctl"
    ) {
        self.mode = mode
        self.systemctl = systemctl
        var handedOn = Self.handedOn(of: environment)
        handedOn["DLD_SOCKET"] = socket
        self.environment = handedOn
    }

    /// The part of the daemon's environment that a started program gets.
    static func handedOn(of environment: [String: String]) -> [String: String] {
        var handedOn = environment.filter { Self.handedOn.contains($0.key) || $0.key.hasPrefix("LC_") }
        handedOn["PATH"] = handedOn["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return handedOn
    }

    static let handedOn: Set<String> = [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
        "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY",
    ]

    package func validate(_ launch: LaunchSpec) throws(TransferError) { _ = try command(for: launch) }

    package func prepare(
        _ launch: LaunchSpec, for session: SessionKey, subscriber: String
    ) throws(TransferError) -> any PreparedProgram {
        var variables = environment
        variables["DLD_SESSION"] = session.identifier
        variables["DLD_SUBSCRIBER"] = subscriber
        let child = try ChildProcess(try command(for: launch), environment: variables)
        guard let identity = ProcessTable.identity(of: child.pid) else {
            child.abandon()
            _ = child.wait()
            throw TransferError(.internal, "Cannot tell process \(child.pid) from others: /proc does not show it.")
        }
        return PreparedChild(child: child, identity: identity)
    }

    package func isRunning(_ program: ProgramIdentity) -> Bool { ProcessTable.isRunning(program) }

    private func command(for launch: LaunchSpec) throws(TransferError) -> [String] {
        switch (launch.unit, launch.argv) {
        case (let unit?, nil):
            try requireUnit(unit)
            switch mode {
            // Waits until the unit is inactive again, and reports whether it failed.
            case .user: return [systemctl, "--user", "--wait", "start", "--", unit]
            case .system: return [systemctl, "--wait", "--no-ask-password", "start", "--", unit]
            }
        case (nil, let argv?):
            guard mode == .user else {
                throw Self.refused(.permissionDenied, "argv", "the system daemon starts only units, not commands.")
            }
            guard let program = argv.first, !program.isEmpty, !argv.contains(where: { $0.utf8.contains(0) }) else {
                throw Self.refused(.badField, "argv", "say a program and its arguments, without NUL.")
            }
            return argv
        case (nil, nil), (_?, _?):
            throw Self.refused(.badField, nil, "say either unit or argv.")
        }
    }

    private func requireUnit(_ unit: String) throws(TransferError) {
        guard UnitName.isValid(unit) else {
            throw Self.refused(.badField, "unit", "that is not the name of a systemd unit.")
        }
        if case .system(let units) = mode, !units.contains(unit) {
            throw Self.refused(.permissionDenied, "unit", "the administrator has not allowed \(unit).")
        }
    }

    /// - Parameter member: the member of `launch`; nil for all of `launch`.
    private static func refused(_ code: ErrorCode, _ member: String?, _ reason: String) -> TransferError {
        let field = "configuration.launch" + (member.map { ".\($0)" } ?? "")
        return TransferError.bad(field, reason, code)
    }
}

private struct PreparedChild: PreparedProgram {
    let child: ChildProcess
    let identity: ProgramIdentity

    func begin(ended: @escaping @Sendable (Int32) -> Void) {
        child.begin()
        reap(ended)
    }

    func abandon() {
        child.abandon()
        reap { _ in }
    }

    /// If no thread can be started, the child stays a zombie until the daemon ends. A zombie counts as not running.
    private func reap(_ ended: @escaping @Sendable (Int32) -> Void) {
        if !NamedThread.start("dld-launch", { [child] in ended(child.wait()) }) { ended(-1) }
    }
}
