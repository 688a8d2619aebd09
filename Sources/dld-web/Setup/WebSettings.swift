import DaemonSetup
import FoundationEssentials
import Glibc
import Logging
import TransferModel

/// Why the program cannot run.
struct SetupFailure: Error, Hashable, Sendable, CustomStringConvertible {
    var description: String
    /// 78 is EX_CONFIG of sysexits.h: a new start would fail too.
    var status: Int32 = 1

    init(_ description: String, status: Int32 = 1) { (self.description, self.status) = (description, status) }

    static func configuration(_ text: String) -> SetupFailure { SetupFailure(text, status: 78) }
}

/// The settings: options, then variables, then the user's file, then the file in /etc, then defaults.
struct WebSettings: Hashable, Sendable {
    var listen: [String] = []
    /// 0: the port of the last start, or any.
    var port = 0
    var hosts: [String] = []
    var allowedPeers: [String] = []
    var metricsPeers: [String] = []
    var metricsTokenFile: String?
    var aria2Enabled = false
    var aria2Port = 6800
    var aria2SecretFile: String?
    /// In seconds.
    var exitOnIdle: Double?
    var logLevel = Logger.Level.info

    var addresses: [String] { listen.isEmpty ? Self.loopback : listen }
    static let loopback = ["127.0.0.1", "::1"]

    /// One setting: its name in a file, its kind, and where its value goes.
    struct Row: Sendable {
        let name: String
        let kind: SettingKind
        let set: @Sendable (JSONValue, inout WebSettings) -> Void

        /// `DLD_WEB_EXIT_ON_IDLE` of `exitOnIdle`.
        var variable: String {
            name.reduce(into: "DLD_WEB_") { text, character in
                if character == "." { return text += "_" }
                text += (character.isUppercase ? "_" : "") + character.uppercased()
            }
        }
    }

    static let rows: [Row] = [
        Row(name: "listen", kind: .list) { $1.listen = $0.texts },
        Row(name: "port", kind: .integer(0...65535)) { $1.port = Int($0.integerValue ?? 0) },
        Row(name: "hosts", kind: .list) { $1.hosts = $0.texts },
        Row(name: "allowedPeers", kind: .list) { $1.allowedPeers = $0.texts },
        Row(name: "metricsPeers", kind: .list) { $1.metricsPeers = $0.texts },
        Row(name: "metricsTokenFile", kind: .path) { $1.metricsTokenFile = $0.stringValue },
        Row(name: "aria2.enabled", kind: .boolean) { $1.aria2Enabled = $0.boolValue ?? false },
        Row(name: "aria2.port", kind: .integer(0...65535)) { $1.aria2Port = Int($0.integerValue ?? 0) },
        Row(name: "aria2.secretFile", kind: .path) { $1.aria2SecretFile = $0.stringValue },
        Row(name: "exitOnIdle", kind: .duration(1...86_400)) { $1.exitOnIdle = $0.numberValue },
        Row(name: "logLevel", kind: .choice(Logger.Level.allCases.map(\.rawValue))) {
            $1.logLevel = $0.stringValue.flatMap(Logger.Level.init(rawValue:)) ?? .info
        },
    ]

    /// - Parameters:
    ///   - flags: the options that were given, by the names of their settings.
    ///   - systemFile: replaced in tests.
    /// - Throws: every mistake at once, with its file and line, and status 78.
    static func load(
        flags: [(option: String, name: String, values: [String])], environment: [String: String],
        systemFile: String = "/etc/dld/dld-web.yaml"
    ) throws(SetupFailure) -> WebSettings {
        var loader = Loader()
        let home = environment["HOME"] ?? "/"
        let folder = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.config"
        // Weakest first, so that later ones overwrite.
        loader.read(systemFile)
        loader.read(folder + "/dld/dld-web.yaml")
        for row in rows {
            guard let text = environment[row.variable], !text.isEmpty else { continue }
            loader.take(row, text: text, at: .environment(row.variable))
        }
        for flag in flags {
            guard let row = rows.first(where: { $0.name == flag.name }) else { continue }
            if case .list = row.kind {
                loader.take(row, .array(flag.values.map { .string($0) }), at: .flag(flag.option))
            } else if let value = flag.values.last {
                loader.take(row, text: value, at: .flag(flag.option))
            }
        }
        loader.check()
        guard loader.problems.isEmpty else { throw .configuration(ConfigurationErrors(loader.problems).description) }
        for path in [\WebSettings.metricsTokenFile, \.aria2SecretFile] {
            if let value = loader.settings[keyPath: path], value.hasPrefix("~/") {
                loader.settings[keyPath: path] = home + value.dropFirst()
            }
        }
        return loader.settings
    }

    private struct Loader {
        var settings = WebSettings()
        var problems: [ConfigurationProblem] = []
        private var listenPlace = ConfigurationProblem.Place.byDefault

        mutating func note(_ message: String, of name: String = "", at place: ConfigurationProblem.Place) {
            problems.append(ConfigurationProblem(place: place, name: name, message: message))
        }

        mutating func read(_ path: String) {
            guard let file = SettingsFile(path, names: rows.map(\.name), manual: "docs/web.md") else { return }
            problems += file.problems
            for given in file.given {
                guard let row = rows.first(where: { $0.name == given.name }) else { continue }
                take(row, given.value, at: given.place)
            }
        }

        private mutating func take(_ row: Row, _ node: YAMLNode, at place: ConfigurationProblem.Place) {
            switch node.content {
            case .scalar(let text, _): take(row, text: text, at: place)
            case .sequence(let items):
                take(row, .array(items.map { $0.text.map(JSONValue.string) ?? .null }), at: place)
            case .mapping: note("holds other settings, but takes \(row.kind.accepts).", of: row.name, at: place)
            }
        }

        mutating func take(_ row: Row, text: String, at place: ConfigurationProblem.Place) {
            guard let value = row.kind.value(ofText: text) else {
                return note("\"\(text)\" is not accepted; give \(row.kind.accepts).", of: row.name, at: place)
            }
            take(row, value, at: place)
        }

        mutating func take(_ row: Row, _ value: JSONValue, at place: ConfigurationProblem.Place) {
            guard let value = row.kind.checked(value) else {
                return note("the value is not accepted; give \(row.kind.accepts).", of: row.name, at: place)
            }
            row.set(value, &settings)
            check(row.name, at: place)
        }

        /// The rules of single settings.
        private mutating func check(_ name: String, at place: ConfigurationProblem.Place) {
            switch name {
            case "listen":
                listenPlace = place
                for address in settings.listen where !WebSettings.isAddress(address) {
                    note("\"\(address)\" is not an IPv4 or IPv6 address.", of: name, at: place)
                }
            case "hosts":
                for host in settings.hosts where !WebSettings.isHost(host) {
                    note("\"\(host)\" is not NAME or NAME:PORT.", of: name, at: place)
                }
            case "allowedPeers", "metricsPeers":
                let users = name == "allowedPeers" ? settings.allowedPeers : settings.metricsPeers
                for user in users where UserNames.user(user) == nil {
                    note("\"\(user)\" is no user of this machine.", of: name, at: place)
                }
            default: break
            }
        }

        /// The rules between settings.
        mutating func check() {
            let wide = settings.listen.filter { !WebSettings.isLoopback($0) }
            if let first = wide.first, settings.hosts.isEmpty {
                note(
                    "\(first) is not a loopback address, so name the page with --host; other names are refused.",
                    of: "listen", at: listenPlace)
            }
        }
    }

    static func isLoopback(_ address: String) -> Bool { address.hasPrefix("127.") || address == "::1" }

    private static func isAddress(_ text: String) -> Bool {
        var room = in6_addr()
        return inet_pton(AF_INET, text, &room) == 1 || inet_pton(AF_INET6, text, &room) == 1
    }

    private static func isHost(_ text: String) -> Bool {
        let name = text.hasPrefix("[") ? text.drop { $0 != "]" }.dropFirst() : text[...]
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        let isPlain = text.utf8.allSatisfy {
            (0x30...0x3a).contains($0) || (0x41...0x5a).contains($0 & 0xdf)
                || [0x2d, 0x2e, 0x5b, 0x5d, 0x5f].contains($0)
        }
        return isPlain && !text.isEmpty && parts.count <= 2 && (parts.count < 2 || UInt16(parts[1]) != nil)
    }
}

extension JSONValue {
    fileprivate var texts: [String] { arrayValue?.compactMap(\.stringValue) ?? [] }
}
