import CLinux
import Glibc
import Logging
import Threading
import TransferModel

/// Starts what a session configured to be started when its events wait and nobody is connected: a systemd unit, or in
/// user mode a command.
///
/// Nothing waits for it: the child is watched by a thread of its own that reaps it.
package actor LaunchRunner {
    package enum Mode: Sendable, Hashable {
        /// `systemctl --user start`, or a command.
        case user
        /// `systemctl start`, for the units that the administrator allowed.
        case system(allowedUnits: Set<String>)
    }

    private struct Launch {
        /// Boot clock, in milliseconds.
        var startedAt: Int64
        var isRunning: Bool
    }

    private let mode: Mode
    private let environment: [String: String]
    private let systemctl: String
    private let logger: Logger
    private var launches: [SessionKey: Launch] = [:]

    /// - Parameters:
    ///   - environment: of the daemon; only what a program of the user needs is handed on.
    ///   - socket: the daemon's, for the child's `DLD_SOCKET`.
    ///   - systemctl: searched in PATH where it has no slash.
    package init(
        mode: Mode, environment: [String: String], socket: String?, logger: Logger, systemctl: String = "systemctl"
    ) {
        self.mode = mode
        self.logger = logger
        self.systemctl = systemctl
        var handedOn = environment.filter { Self.handedOn.contains($0.key) || $0.key.hasPrefix("LC_") }
        handedOn["PATH"] = handedOn["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        handedOn["DLD_SOCKET"] = socket
        self.environment = handedOn
    }

    /// What a started program gets of the daemon's environment.
    static let handedOn: Set<String> = [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
        "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY",
    ]

    /// Refuses what `session.open` may not configure.
    /// - Throws: `request.bad_field`, `permission.denied`.
    package nonisolated func validate(_ launch: LaunchSpec) throws(TransferError) {
        _ = try command(for: launch)
    }

    /// Starts the session's program, unless it did so less than `interval` ago or the last one still runs.
    /// - Parameter now: boot clock, in milliseconds.
    /// - Returns: whether it was started.
    @discardableResult
    package func launch(_ spec: LaunchSpec, for session: SessionKey, interval: Seconds, now: Int64) -> Bool {
        if let last = launches[session], last.isRunning || now - last.startedAt < interval.milliseconds { return false }
        let note: Logger.Metadata = ["session": "\(session)"]
        do {
            let argv = try command(for: spec)
            var variables = environment
            variables["DLD_SESSION"] = session.identifier
            let child = try ChildProcess.spawn(argv, environment: variables)
            launches[session] = Launch(startedAt: now, isRunning: true)
            logger.info("launched", metadata: note.merging(["command": "\(argv[0])", "pid": "\(child)"]) { $1 })
            reap(child, for: session)
            return true
        } catch {
            launches[session] = Launch(startedAt: now, isRunning: false)
            logger.warning("cannot launch", metadata: note.merging(["error": "\(error)"]) { $1 })
            return false
        }
    }

    /// True while the session's last program runs.
    package func isRunning(_ session: SessionKey) -> Bool { launches[session]?.isRunning ?? false }

    private nonisolated func command(for launch: LaunchSpec) throws(TransferError) -> [String] {
        switch (launch.unit, launch.argv) {
        case (let unit?, nil):
            try requireUnit(unit)
            switch mode {
            case .user: return [systemctl, "--user", "--no-block", "start", "--", unit]
            case .system: return [systemctl, "--no-block", "--no-ask-password", "start", "--", unit]
            }
        case (nil, let argv?):
            guard mode == .user else {
                throw Self.refused(.permissionDenied, "argv", "the system daemon starts units only, no commands.")
            }
            guard let program = argv.first, !program.isEmpty, !argv.contains(where: { $0.utf8.contains(0) }) else {
                throw Self.refused(.badField, "argv", "say a program and its arguments, without NUL.")
            }
            return argv
        case (nil, nil), (_?, _?):
            throw Self.refused(.badField, nil, "say either unit or argv.")
        }
    }

    private nonisolated func requireUnit(_ unit: String) throws(TransferError) {
        let allowed = unit.utf8.allSatisfy { byte in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || ":-_.\\@".utf8.contains(byte)
        }
        guard allowed, unit.utf8.first.map({ $0 != UInt8(ascii: "-") }) ?? false, unit.utf8.count <= 255 else {
            throw Self.refused(.badField, "unit", "that is no name of a systemd unit.")
        }
        if case .system(let units) = mode, !units.contains(unit) {
            throw Self.refused(.permissionDenied, "unit", "the administrator has not allowed \(unit).")
        }
    }

    /// - Parameter member: of `launch`; nil for all of it.
    private static func refused(_ code: ErrorCode, _ member: String?, _ reason: String) -> TransferError {
        let field = "configuration.launch" + (member.map { ".\($0)" } ?? "")
        return TransferError(code, "\(field): \(reason)", details: ["field": .string(field)])
    }

    private func reap(_ child: pid_t, for session: SessionKey) {
        let started = NamedThread.start("dld-launch") { [weak self] in
            let status = ChildProcess.wait(child)
            guard let self else { return }
            Task { await self.ended(child, status, session) }
        }
        // Without a thread the child stays a zombie until the daemon ends; the session must not be blocked by it.
        if !started { launches[session]?.isRunning = false }
    }

    private func ended(_ child: pid_t, _ status: Int32, _ session: SessionKey) {
        launches[session]?.isRunning = false
        let note: Logger.Metadata = ["session": "\(session)", "pid": "\(child)", "status": "\(status)"]
        if status == 0 {
            logger.debug("launched program ended", metadata: note)
        } else {
            logger.warning("launched program failed", metadata: note)
        }
    }
}
