import FoundationEssentials
import TransferModel

/// Reads one YAML file into a layer, with the line of every mistake.
struct ConfigurationFile {
    package let path: String
    let origin: SettingOrigin
    let scope: Scope

    /// The settings that a file may set.
    enum Scope {
        case everything
        /// Those that /etc may set for a user's daemon: none that make sense for one daemon only.
        case allUsers
        /// Those that /etc sets for a user's daemon even if that daemon reads another file instead.
        case bindingUsers

        func includes(_ setting: Setting) -> Bool {
            switch self {
            case .everything: true
            case .allUsers: setting.sharedFileHoldsForUsers
            case .bindingUsers: setting.sharedFileBindsUsers
            }
        }
    }

    private static let sizeLimit = 1 << 20

    /// - Parameter required: whether a missing file is a mistake (`--config`).
    /// - Returns: nil if the file does not exist.
    package func read(required: Bool) -> ConfigurationLayer? {
        var layer = ConfigurationLayer(origin: origin, path: path)
        switch FileText.read(path, limit: Self.sizeLimit) {
        case .missing:
            guard required else { return nil }
            layer.note("no such file; name an existing one with --config.", at: .file(path, line: nil))
        case .failed(let reason):
            layer.note("cannot be read: \(reason).", at: .file(path, line: nil))
        case .text(let text):
            take(text, into: &layer)
        }
        return layer
    }

    private func take(_ text: String, into layer: inout ConfigurationLayer) {
        let root: YAMLNode
        do {
            // A file without a document sets nothing.
            guard let document = try YAMLDocument.parse(text) else { return }
            root = document
        } catch {
            layer.note("is not valid YAML: \(error.message).", at: .file(path, line: error.line))
            return
        }
        switch root.content {
        case .mapping(let members): take(members, prefix: "", into: &layer)
        // A document with only comments is an empty scalar.
        case .scalar("", _): break
        case .scalar, .sequence:
            layer.note("is not a list of `name: value` lines.", at: .file(path, line: root.line))
        }
    }

    private func take(_ members: [YAMLNode.Member], prefix: String, into layer: inout ConfigurationLayer) {
        var first: [String: Int] = [:]
        for member in members {
            let place = ConfigurationProblem.Place.file(path, line: member.key.line)
            guard let text = member.key.text else {
                layer.note("a name is expected here.", at: place)
                continue
            }
            let name = prefix + text
            if let line = first[name] {
                layer.note("is given twice (first on line \(line)); remove one of the two.", of: name, at: place)
                continue
            }
            first[name] = member.key.line
            take(member.value, named: name, at: place, into: &layer)
        }
    }

    private func take(
        _ value: YAMLNode, named name: String, at place: ConfigurationProblem.Place,
        into layer: inout ConfigurationLayer
    ) {
        if let setting = SettingsTable.setting(named: name) {
            guard scope.includes(setting) else { return }
            take(setting, value, at: place, into: &layer)
        } else if SettingsTable.all.contains(where: { $0.name.hasPrefix(name + ".") }) {
            if case .mapping(let section) = value.content {
                take(section, prefix: name + ".", into: &layer)
            } else if !isEmpty(value), scope != .bindingUsers {
                layer.note("is a section; write its settings indented on the lines below it.", of: name, at: place)
            }
        } else if scope != .bindingUsers {
            layer.note(.unknown(name, at: place))
        }
    }

    private func take(
        _ setting: Setting, _ value: YAMLNode, at place: ConfigurationProblem.Place,
        into layer: inout ConfigurationLayer
    ) {
        switch value.content {
        case .scalar(_, isPlain: true) where isEmpty(value):
            layer.note("has no value; give \(setting.kind.accepts), or remove the line.", of: setting.name, at: place)
        case .scalar(let text, _): layer.take(setting, text: text, at: place)
        case .sequence(let items):
            // An item that is not a scalar becomes null, which no list accepts.
            layer.take(setting, value: .array(items.map { $0.text.map(JSONValue.string) ?? .null }), at: place)
        case .mapping:
            layer.note("holds other settings, but takes \(setting.kind.accepts).", of: setting.name, at: place)
        }
    }

    private func isEmpty(_ node: YAMLNode) -> Bool {
        node.text.map { ["", "~", "null"].contains($0) } ?? false
    }
}
