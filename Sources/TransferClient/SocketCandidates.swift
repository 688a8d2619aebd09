import Glibc
import JSONRPC

extension DaemonClient {
    /// The sockets at which a daemon may listen, best first (protocol.md, Transport).
    ///
    /// The state folder comes before the runtime folder. Every daemon listens in its state folder, but a socket in the
    /// runtime folder may belong to systemd and start a second daemon.
    /// - Parameters:
    ///   - explicit: the value of `--socket`. If it is set, nothing else is tried.
    ///   - system: only the system daemon is meant.
    ///   - environment: the variables of the process (`DLD_SOCKET`, `XDG_RUNTIME_DIR`, `STATE_DIRECTORY`,
    ///   `XDG_STATE_HOME`, `HOME`).
    public static func candidateSocketPaths(
        explicit: String? = nil, system: Bool = false, environment: [String: String]
    ) -> [String] {
        // Relative paths are invalid in these variables (XDG base directory specification).
        func value(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        if let explicit { return [explicit] }
        if let named = environment["DLD_SOCKET"], !named.isEmpty { return [named] }
        if system { return systemSocketPaths }
        var paths: [String] = []
        let state =
            value("STATE_DIRECTORY").map { String($0.prefix { $0 != ":" }) } ?? value("XDG_STATE_HOME").map {
                $0 + "/dld"
            }
            ?? value("HOME").map { $0 + "/.local/state/dld" }
        if let state { paths.append(state + "/dld.sock") }
        if let runtime = value("XDG_RUNTIME_DIR"), unusableRuntimeFolder(environment: environment) == nil {
            paths.append(runtime + runtimeSocketName)
        }
        return paths + systemSocketPaths
    }

    private static let runtimeSocketName = "/dld/dld.sock"

    /// `XDG_RUNTIME_DIR` and the reason, if it is ignored: it belongs to another user (as after `su` and `sudo`), or is
    /// too long for a socket's address.
    public static func unusableRuntimeFolder(environment: [String: String]) -> (path: String, reason: String)? {
        guard let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") else { return nil }
        var status = stat()
        if stat(runtime, &status) == 0, status.st_uid != geteuid() { return (runtime, "belongs to another user") }
        let length = (runtime + runtimeSocketName).utf8.count
        guard length > SocketAddressPath.longest else { return nil }
        return (runtime, "is too long for a socket (\(length) bytes, \(SocketAddressPath.longest) fit)")
    }

    /// The socket of the system daemon.
    public static let systemSocketPath = "/run/dld/dld.sock"

    package static let systemSocketPaths = [systemSocketPath, "/var/lib/dld/dld.sock"]
}
