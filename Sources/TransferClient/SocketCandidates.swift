extension DaemonClient {
    /// Where a daemon may listen, best first (protocol.md, Transport).
    ///
    /// - Parameters:
    ///   - explicit: what `--socket` said; then nothing else is tried.
    ///   - system: only the system's daemon is meant.
    ///   - environment: of the process (`DLD_SOCKET`, `XDG_RUNTIME_DIR`, `STATE_DIRECTORY`, `XDG_STATE_HOME`, `HOME`).
    public static func candidateSocketPaths(
        explicit: String? = nil, system: Bool = false, environment: [String: String]
    ) -> [String] {
        // Relative paths are invalid in these variables (XDG base directory specification).
        func value(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        if let explicit { return [explicit] }
        if let named = environment["DLD_SOCKET"], !named.isEmpty { return [named] }
        if system { return [systemSocketPath] }
        var paths: [String] = []
        if let runtime = value("XDG_RUNTIME_DIR") { paths.append(runtime + "/dld/dld.sock") }
        let state =
            value("STATE_DIRECTORY").map { String($0.prefix { $0 != ":" }) } ?? value("XDG_STATE_HOME").map {
                $0 + "/dld"
            }
            ?? value("HOME").map { $0 + "/.local/state/dld" }
        if let state { paths.append(state + "/dld.sock") }
        return paths + [systemSocketPath]
    }

    /// Of the one daemon of the system.
    public static let systemSocketPath = "/run/dld/dld.sock"
}
