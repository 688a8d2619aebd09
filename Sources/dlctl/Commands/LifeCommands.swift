import ArgumentParser
import FoundationEssentials
import Glibc
import TransferModel
import TransferRPC

struct StartCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Start the daemon if none runs, and print where it listens.",
        discussion: """
            Every command that needs a daemon starts one; this one does nothing else. systemd starts the system daemon.
            """)

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if global.noStart { throw ValidationError("'start' starts the daemon; 'info --no-start' only looks for it.") }
    }

    func run(_ session: CommandSession) async throws {
        var session = session
        session.access.mayStart = !global.system
        try await session.show(Methods.daemonInfo, Nothing()) { info in
            let sockets = (info.sockets ?? [info.socket]).map { Printable.text($0) }.joined(separator: ", ")
            return [StyledText("dld \(info.version) runs as process \(info.pid) and listens on \(sockets)")]
        }
    }
}

struct StopCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Stop the daemon; transfers resume when it starts again.",
        discussion: """
            Waits until the daemon has stored the offsets of its transfers and has ended. The next command that needs a \
            daemon starts one; a running 'add -w', 'wait' or 'watch' does not. Use systemctl to stop the system daemon.
            """)

    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// The daemon's own limit for stopping is 10 s (TimeoutStopSec=).
    private static let patience = Duration.seconds(30)

    func run(_ session: CommandSession) async throws {
        guard let client = try await session.access.connectToRunning() else {
            session.console.remark("no daemon is running")
            if session.console.json { session.console.value(["stopped": JSONValue.bool(false)]) }
            return
        }
        let info = try await client.call(Methods.daemonInfo, Nothing())
        await client.close()
        guard info.mode == .user else {
            throw CommandFailure.local(
                "this is the system daemon; stop it with: sudo systemctl stop dld.socket dld.service")
        }
        let process = RunningProcess(pid: info.pid)
        guard process.isDaemon(of: info.uid) else {
            throw CommandFailure.local(
                "process \(info.pid) is not visible from here; stop the daemon where it was started")
        }
        let isUnit = process.isUnit("dld.service")
        guard kill(info.pid, SIGTERM) == 0 || errno == ESRCH else {
            throw CommandFailure.local("cannot stop process \(info.pid): \(String(cString: strerror(errno)))")
        }
        session.console.remark(
            "waiting up to \(Self.patience.components.seconds) s until process \(info.pid) has stored the offsets of its "
                + "transfers and has ended")
        guard await process.ends(within: Self.patience) else {
            throw CommandFailure.local(
                "process \(info.pid) was told to end but still runs; if it does not answer dlctl info, kill it: "
                    + "kill -9 \(info.pid) (transfers resume at the last checkpoint)")
        }
        if isUnit {
            session.console.remark(
                "systemd's dld.socket starts it again at the next connection; to prevent that: "
                    + "systemctl --user stop dld.socket")
        }
        if session.console.json {
            session.console.value(["stopped": JSONValue.bool(true), "pid": .integer(Int64(info.pid))])
        } else {
            session.console.line("stopped (process \(info.pid))")
        }
    }
}

/// A process by its number, as proc(5) shows it.
struct RunningProcess: Sendable {
    let pid: Int32

    /// Tells whether this process is a dld of this user. From inside a container, the number may belong to another
    /// process.
    func isDaemon(of uid: UserID) -> Bool {
        var status = stat()
        return text("comm")?.hasPrefix("dld") == true && stat("/proc/\(pid)", &status) == 0
            && status.st_uid == uid.rawValue
    }

    /// Tells whether systemd runs it as this unit.
    func isUnit(_ name: String) -> Bool { text("cgroup")?.contains("/\(name)") == true }

    /// Waits for its end. A zombie counts as ended.
    func ends(within patience: Duration) async -> Bool {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: patience)
        while isAlive {
            guard clock.now < end else { return false }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    private var isAlive: Bool {
        guard let status = text("status") else { return false }
        return !status.contains("\nState:\tZ")
    }

    private func text(_ name: String) -> String? {
        guard let data = try? Data(contentsOf: URL(filePath: "/proc/\(pid)/\(name)")) else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}
