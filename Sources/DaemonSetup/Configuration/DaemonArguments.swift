/// The options of `dld` that affect the configuration, as given on the command line.
package struct DaemonArguments: Hashable, Sendable {
    /// One daemon for all users, instead of one for this user.
    package var system = false
    /// `--config`: replaces the user's and the /etc file.
    package var configFile: String?
    package var stateDirectory: String?
    package var socket: String?
    package var logLevel: String?
    /// Further settings by their name in the file, as `--set NAME=VALUE` gives them.
    package var settings: [String: String] = [:]

    package init() {}

    /// The option, the setting and the value of each.
    var settingFlags: [(flag: String, name: String, text: String)] {
        let named = [
            ("--state-dir", "stateDirectory", stateDirectory.map(Self.absolute)),
            ("--socket", "socket", socket.map(Self.absolute)),
            ("--log-level", "logLevel", logLevel),
        ]
        return named.compactMap { flag, name, text in text.map { (flag, name, $0) } }
            + settings.sorted { $0.key < $1.key }.map { ("--set", $0.key, $0.value) }
    }

    /// A path from the command line is relative to the current folder, as everywhere.
    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") || path.isEmpty ? path : CurrentFolder.path + "/" + path
    }
}
