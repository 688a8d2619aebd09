import DaemonSetup
import TransferModel

/// Reads fleet.yaml into settings, and collects what is wrong with it.
struct SettingsReader {
    private(set) var settings: FleetSettings
    private(set) var problems: [ConfigurationProblem] = []
    private let home: String
    /// Where each setting was said last.
    private var places: [String: ConfigurationProblem.Place] = [:]

    init(_ defaults: FleetSettings, home: String) { (settings, self.home) = (defaults, home) }

    private mutating func note(_ message: String, of name: String = "", at place: ConfigurationProblem.Place? = nil) {
        let place = place ?? places[name] ?? .byDefault
        problems.append(ConfigurationProblem(place: place, name: name, message: message))
    }

    mutating func read(_ path: String, mustExist: Bool = false) {
        let rows = FleetSettings.rows
        let names = rows.map(\.name)
        guard let file = SettingsFile(path, names: names, manual: "docs/fleet.md", required: mustExist) else { return }
        problems += file.problems
        for given in file.given {
            guard let row = rows.first(where: { $0.name == given.name }) else { continue }
            places[row.name] = given.place
            take(row, given.value, path)
        }
    }

    private mutating func take(_ row: FleetSettings.Row, _ node: YAMLNode, _ path: String) {
        switch (row.form, node.content) {
        case (.folders, .sequence(let items)):
            row.set(.array(items.compactMap { folder($0, of: row.name, path) }), &settings)
        case (.folders, .scalar("", _)), (.database, .scalar("", _)), (.texts, .scalar("", _)): row.set([], &settings)
        case (.value, .scalar(let text, _)), (.database, .scalar(let text, _)), (.texts, .scalar(let text, _)):
            take(row, row.kind.value(ofText: text), of: text)
        case (.value, .sequence(let items)), (.database, .sequence(let items)), (.texts, .sequence(let items)):
            take(row, row.kind.checked(.array(items.map { $0.text.map(JSONValue.string) ?? .null })), of: "the list")
        case (.folders, _), (_, .mapping): note("is not accepted; give \(row.accepts).", of: row.name)
        }
    }

    private mutating func take(_ row: FleetSettings.Row, _ value: JSONValue?, of text: String) {
        // A connection string may be wrong because a password is in it, so it is not repeated.
        var refused: String? = if case .database = row.form { "the text" } else { "\"\(text)\"" }
        if let value {
            refused = nil
            if case .texts(let isGood, _) = row.form {
                refused = value.arrayValue?.compactMap(\.stringValue).first { !isGood($0) }.map { "\"\($0)\"" }
            }
        }
        guard refused == nil, let value else {
            return note("\(refused ?? "the value") is not accepted; give \(row.accepts).", of: row.name)
        }
        row.set(row.kind == .path ? expanded(value) : value, &settings)
    }

    private func expanded(_ value: JSONValue) -> JSONValue {
        guard let path = value.stringValue, path.hasPrefix("~/") else { return value }
        return .string(home + path.dropFirst())
    }

    /// `{path: /data, shared: true}`
    private mutating func folder(_ node: YAMLNode, of name: String, _ path: String) -> JSONValue? {
        guard case .mapping(let members) = node.content else {
            note("give {path: PATH, shared: true or false}.", of: name, at: .file(path, line: node.line))
            return nil
        }
        let kinds: [String: SettingKind] = ["path": .path, "shared": .boolean]
        var folder: [String: JSONValue] = [:]
        for member in members {
            let (key, place) = (member.key.text ?? "", ConfigurationProblem.Place.file(path, line: member.key.line))
            if let kind = kinds[key] {
                folder[key] = member.value.text.flatMap(kind.value(ofText:)).map(expanded)
                if folder[key] == nil { note("\(key) is \(kind.accepts).", of: name, at: place) }
            } else {
                note("there is no \"\(key)\"; give path and shared.", of: name, at: place)
            }
        }
        if !members.contains(where: { $0.key.text == "path" }) {
            note("a folder has no path.", of: name, at: .file(path, line: node.line))
        }
        return .object(folder)
    }

    /// The rules that are more than the kinds of settings, and those between settings.
    mutating func check(_ environment: [String: String]) {
        do throws(ConnectionString.Fault) {
            settings.connection = try ConnectionString(settings.database, environment: environment)
        } catch {
            note(error.message + ".", of: "database")
        }
        let node = settings.node
        if !FleetSettings.isName(node.name) {
            note("\"\(node.name)\" is not 1 to 64 letters, digits, `.`, `_` and `-`.", of: "name")
        }
        if node.renew > node.lease / 3 {
            note("renew is at most a third of lease.", of: places["renew"] == nil ? "lease" : "renew")
        }
        if node.policy.headers.contains("*"), node.policy.headers.count > 1 {
            note("\"*\" stands alone.", of: "policy.headers")
        }
    }
}
