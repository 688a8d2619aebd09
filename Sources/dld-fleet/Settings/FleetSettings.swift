import DaemonSetup
import Glibc
import Logging
import TransferClient
import TransferModel

/// What fleet.yaml and the environment say (section 3 of the contract).
struct FleetSettings: Hashable, Sendable {
    var node = NodeSettings()
    /// As it is written; `connection` is what counts.
    var database = ""
    var connection = ConnectionString()
    /// Holds `instance` and a lock.
    var stateDirectory = ""
    var socket: String?
    /// Where dld may listen, best first.
    var sockets: [String] = []
    var logLevel = Logger.Level.info

    /// One setting: its name in the file, what it accepts, and where its value goes.
    struct Row: Sendable {
        enum Form: Sendable {
            case value(SettingKind)
            /// Also the empty text.
            case database
            /// A list of texts that each pass a test; the text says what they are.
            case texts(@Sendable (String) -> Bool, String)
            /// A list of `{path, shared}`.
            case folders
        }

        let name: String
        let form: Form
        let set: @Sendable (JSONValue, inout FleetSettings) -> Void

        init(_ name: String, _ form: Form, set: @escaping @Sendable (JSONValue, inout FleetSettings) -> Void) {
            (self.name, self.form, self.set) = (name, form, set)
        }

        init(
            _ name: String, seconds range: ClosedRange<Double>,
            _ path: WritableKeyPath<FleetSettings, Duration> & Sendable
        ) {
            self.init(name, .value(.duration(range))) { $1[keyPath: path] = .seconds($0.numberValue ?? 0) }
        }

        init(
            _ name: String, count range: ClosedRange<Int64>, _ path: WritableKeyPath<FleetSettings, Int> & Sendable
        ) {
            self.init(name, .value(.integer(range))) { $1[keyPath: path] = Int($0.integerValue ?? 0) }
        }

        init(_ name: String, flag path: WritableKeyPath<FleetSettings, Bool> & Sendable) {
            self.init(name, .value(.boolean)) { $1[keyPath: path] = $0.boolValue ?? false }
        }

        init(
            _ name: String, of words: String, _ path: WritableKeyPath<FleetSettings, [String]> & Sendable,
            where isGood: @escaping @Sendable (String) -> Bool = { _ in true }
        ) {
            self.init(name, .texts(isGood, words)) { $1[keyPath: path] = $0.texts }
        }

        init(_ name: String, folders path: WritableKeyPath<FleetSettings, [Policy.Folder]> & Sendable) {
            self.init(name, .folders) { value, settings in
                settings[keyPath: path] = (value.arrayValue ?? []).compactMap { item in
                    item["path"]?.stringValue.map { .init(path: $0, shared: item["shared"]?.boolValue ?? false) }
                }
            }
        }

        var kind: SettingKind {
            switch form {
            case .value(let kind): kind
            case .database: .text
            case .texts, .folders: .list
            }
        }

        var accepts: String {
            switch form {
            case .value(let kind): kind.accepts
            case .database: "a connection string of libpq without a password"
            case .texts(_, let words): "a list of \(words)"
            case .folders: "a list of {path: PATH, shared: true or false}"
            }
        }
    }

    private static let day = 86_400.0

    static let rows: [Row] = [
        Row("name", .value(.text)) { $1.node.name = $0.stringValue ?? "" },
        Row("stateDirectory", .value(.path)) { $1.stateDirectory = $0.stringValue ?? "" },
        Row("socket", .value(.path)) { $1.socket = $0.stringValue },
        Row("database", .database) { $1.database = $0.stringValue ?? "" },
        Row("capacity", count: 1...1000, \.node.capacity),
        Row("labels", of: "texts", \.node.labels),
        Row("lease", seconds: 1...day, \.node.lease),
        Row("renew", seconds: 0.1...day, \.node.renew),
        Row("poll", seconds: 0.1...day, \.node.poll),
        Row("listen", flag: \.node.listen),
        Row("progressInterval", seconds: 0.1...day, \.node.progressInterval),
        Row("drainLimit", seconds: 0...7 * day, \.node.drainLimit),
        Row("handBackAfter", seconds: 1...day, \.node.handBackAfter),
        Row("localAttempts", count: 1...1000, \.node.localAttempts),
        Row("backoff.first", seconds: 0.01...day, \.node.backoff.first),
        Row("backoff.longest", seconds: 0.01...7 * day, \.node.backoff.longest),
        Row("logLevel", .value(.choice(Logger.Level.allCases.map(\.rawValue)))) {
            $1.logLevel = $0.stringValue.flatMap(Logger.Level.init(rawValue:)) ?? .info
        },
        Row("policy.pools", of: "names of at most 64 letters, digits, `.`, `_` and `-`", \.node.policy.pools) {
            isName($0)
        },
        Row("policy.kinds", .texts({ TaskKind(rawValue: $0) != nil }, "download, upload and data")) {
            $1.node.policy.kinds = $0.texts.compactMap(TaskKind.init(rawValue:))
        },
        Row("policy.schemes", of: "schemes such as https, in small letters", \.node.policy.schemes) {
            isMade($0, of: "abcdefghijklmnopqrstuvwxyz0123456789+-.")
        },
        Row("policy.hosts", .texts({ isPattern($0) }, "hosts: example.org, *.example.org")) {
            // Hosts of URLs are compared without brackets and without the dot at the end.
            $1.node.policy.hosts = $0.texts.map { text in
                let host = text.hasPrefix("[") ? text.dropFirst().dropLast() : text[...]
                return (host.hasSuffix(".") ? host.dropLast() : host).lowercased()
            }
        },
        Row("policy.folders", folders: \.node.policy.folders),
        Row("policy.sources", folders: \.node.policy.sources),
        Row("policy.headers", of: "names of headers, or [\"*\"]", \.node.policy.headers) { HeaderField.isToken($0) },
        Row("policy.methods", of: "methods such as GET", \.node.policy.methods) { HeaderField.isToken($0) },
        Row("policy.credentials", flag: \.node.policy.credentials),
    ]

    private static let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

    private static func isMade(_ text: some StringProtocol, of letters: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(letters.utf8.contains)
    }

    /// Names of nodes and pools, as the tables check them.
    static func isName(_ text: String) -> Bool { text.utf8.count <= 64 && isMade(text, of: letters) }

    /// A name or an address, or `*.` before a name. No port, no other wildcard.
    static func isPattern(_ text: String) -> Bool {
        if text.hasPrefix("[") { return text.hasSuffix("]") && isMade(text.dropFirst().dropLast(), of: letters + ":") }
        let name = text.hasPrefix("*.") ? text.dropFirst(2) : text[...]
        return isMade(name, of: letters) && !name.hasPrefix(".")
    }

    /// The host name as a name of a node.
    static var hostName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        gethostname(&buffer, buffer.count - 1)
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let name = String(String(decoding: bytes, as: UTF8.self).map { isName("\($0)") ? $0 : "_" }.prefix(64))
        return name.isEmpty ? "localhost" : name
    }

    /// - Parameters:
    ///   - file: `--config`; alone, if given. Otherwise /etc/dld/fleet.yaml, and over it the user's file.
    ///   - systemFile: replaced in tests.
    /// - Throws: every mistake at once, with its file and line, and status 78.
    static func load(
        file: String?, environment: [String: String], systemFile: String = "/etc/dld/fleet.yaml"
    ) throws(Failure) -> FleetSettings {
        func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let home = absolute("HOME") ?? "/"
        var defaults = FleetSettings()
        defaults.node.name = hostName
        // systemd separates several folders by colons.
        defaults.stateDirectory =
            absolute("STATE_DIRECTORY").map { String($0.prefix { $0 != ":" }) }
            ?? (absolute("XDG_STATE_HOME") ?? home + "/.local/state") + "/dld-fleet"
        var reader = SettingsReader(defaults, home: home)
        if let file {
            reader.read(file, mustExist: true)
        } else {
            reader.read(systemFile)
            reader.read((absolute("XDG_CONFIG_HOME") ?? home + "/.config") + "/dld/fleet.yaml")
        }
        reader.check(environment)
        guard reader.problems.isEmpty else {
            throw Failure(.configuration, "configuration", ConfigurationErrors(reader.problems).description)
        }
        var settings = reader.settings
        let named = environment["DLD_SOCKET"].flatMap { $0.isEmpty ? nil : $0 } ?? settings.socket
        // STATE_DIRECTORY is this program's, not dld's.
        settings.sockets = DaemonClient.candidateSocketPaths(
            explicit: named, environment: environment.filter { $0.key != "STATE_DIRECTORY" })
        return settings
    }
}

extension JSONValue {
    fileprivate var texts: [String] { arrayValue?.compactMap(\.stringValue) ?? [] }
}
