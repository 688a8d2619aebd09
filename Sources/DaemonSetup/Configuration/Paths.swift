import Glibc

/// Where the daemon's folders are: the XDG base directory specification, systemd.exec(5)'s variables, protocol.md.
package struct Paths: Hashable, Sendable {
    package let system: Bool
    /// The user's home folder; `/` if neither $HOME nor the user database names one.
    package let home: String
    private let environment: [String: String]

    /// The size of `sun_path` without its terminating NUL (unix(7)).
    package static let socketPathLimit = 107
    package static let systemFile = "/etc/dld/dld.yaml"

    package init(system: Bool, environment: [String: String]) {
        self.system = system
        self.environment = environment
        home = Self.absolute(environment["HOME"]) ?? Self.homeFromUserDatabase() ?? "/"
    }

    /// The variables of the environment that name proxies, with their values.
    var proxyVariables: [(name: String, value: String)] {
        ["http", "https", "ftp", "all", "no"].flatMap { ["\($0)_proxy", "\($0)_proxy".uppercased()] }
            // curl does not read HTTP_PROXY, which a web server may set from a request's header.
            .filter { $0 != "HTTP_PROXY" }
            .compactMap { name in environment[name].flatMap { $0.isEmpty ? nil : (name, $0) } }
    }

    /// `$XDG_CONFIG_HOME/dld/dld.yaml`.
    package var userFile: String { "\(configHome)/dld/dld.yaml" }

    /// `$STATE_DIRECTORY`, else `$XDG_STATE_HOME/dld`; /var/lib/dld for the system daemon.
    package var stateDirectory: String {
        // systemd separates several folders by colons; the first is ours.
        let given = environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        if let given = Self.absolute(given) { return given }
        return system ? "/var/lib/dld" : "\(Self.absolute(environment["XDG_STATE_HOME"]) ?? home + "/.local/state")/dld"
    }

    /// The path of the socket if no setting names it.
    package func socket(stateDirectory: String) -> String {
        if system { return "/run/dld/dld.sock" }
        if let runtime = runtimeFolder, unusableRuntimeFolder == nil { return runtime + Self.runtimeSocketName }
        return "\(stateDirectory)/\(ListeningPlaces.stateName)"
    }

    private static let runtimeSocketName = "/dld/dld.sock"

    /// `$XDG_RUNTIME_DIR` if it is ignored, and why. It may be another user's, because `su` and `sudo` keep the
    /// variable. This user could then not reach a socket there, or the socket would collide with that of the other
    /// user's daemon. Or the path may be too long for a socket.
    package var unusableRuntimeFolder: (path: String, reason: String)? {
        guard !system, let runtime = runtimeFolder else { return nil }
        var status = stat()
        if stat(runtime, &status) == 0, status.st_uid != geteuid() {
            return (runtime, "belongs to user \(status.st_uid), not to \(geteuid())")
        }
        let length = (runtime + Self.runtimeSocketName).utf8.count
        guard length > Self.socketPathLimit else { return nil }
        return (runtime, "makes a socket path of \(length) bytes, over the limit of \(Self.socketPathLimit)")
    }

    private var runtimeFolder: String? { Self.absolute(environment["XDG_RUNTIME_DIR"]) }

    /// In user mode, the folder of downloads without a destination: DOWNLOAD of xdg-user-dirs, else ~/Downloads.
    package var downloads: String {
        if let given = Self.absolute(environment["XDG_DOWNLOAD_DIR"]) { return given }
        if case .text(let text) = FileText.read("\(configHome)/user-dirs.dirs", limit: 65536),
            let folder = downloadFolder(in: text)
        {
            return folder
        }
        return "\(home)/Downloads"
    }

    /// Where ssh keeps the keys of known servers.
    package var knownHosts: String { system ? "/etc/ssh/ssh_known_hosts" : "\(home)/.ssh/known_hosts" }

    /// `path` with a leading `~/` replaced by the home folder.
    package func expanded(_ path: String) -> String {
        path.hasPrefix("~/") ? home + path.dropFirst() : path
    }

    /// The sentence that refuses a socket path which does not fit into a socket address; nil if it fits.
    package static func socketPathFault(_ path: String) -> String? {
        let length = path.utf8.count
        guard length > socketPathLimit else { return nil }
        return "\(path) has \(length) bytes, but a socket's path has at most \(socketPathLimit); name a shorter one."
    }

    private var configHome: String { Self.absolute(environment["XDG_CONFIG_HOME"]) ?? home + "/.config" }

    /// `XDG_DOWNLOAD_DIR="$HOME/Downloads"`: the value is absolute or starts with $HOME (user-dirs.dirs(5)).
    private func downloadFolder(in text: String) -> String? {
        for line in text.split(separator: "\n") where line.hasPrefix("XDG_DOWNLOAD_DIR=\"") && line.hasSuffix("\"") {
            let value = line.dropFirst("XDG_DOWNLOAD_DIR=\"".count).dropLast()
            let path = value.hasPrefix("$HOME") ? home + value.dropFirst("$HOME".count) : String(value)
            // The home folder itself means that the user has no such folder.
            return path.hasPrefix("/") && path != home && path != home + "/" ? path : nil
        }
        return nil
    }

    /// Relative values are ignored, as the specifications require.
    private static func absolute(_ path: String?) -> String? {
        guard var path, path.hasPrefix("/") else { return nil }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    private static func homeFromUserDatabase() -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16384)
        return buffer.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, getpwuid_r(getuid(), &entry, start, buffer.count, &found) == 0,
                found != nil, let folder = entry.pw_dir
            else { return nil }
            return absolute(String(cString: folder))
        }
    }
}
