import FoundationEssentials
import TransferModel
import Yams

/// Reads one YAML file into a layer, with the line of every mistake.
struct ConfigurationFile {
    let path: String
    let origin: SettingOrigin
    let scope: Scope

    /// Which settings a file speaks for.
    enum Scope {
        case everything
        /// What /etc says to a user's daemon: nothing that only makes sense for one daemon.
        case allUsers
        /// What /etc says to a user's daemon that reads another file in its place.
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

    /// - Parameter required: whether a missing file is a mistake (`--config`) or just says nothing.
    /// - Returns: nil where the file does not exist.
    func read(required: Bool) -> ConfigurationLayer? {
        var layer = ConfigurationLayer(origin: origin)
        switch FileText.read(path, limit: Self.sizeLimit) {
        case .missing:
            guard required else { return nil }
            layer.note(problem("no such file; name an existing one with --config."))
        case .failed(let reason):
            layer.note(problem("cannot be read: \(reason)."))
        case .text(let text):
            take(text, into: &layer)
        }
        return layer
    }

    private func take(_ text: String, into layer: inout ConfigurationLayer) {
        guard let root = compose(text, into: &layer) else { return }
        guard let mapping = root.mapping else {
            // A file of comments only is an empty scalar.
            if root.scalar?.string.isEmpty != true {
                layer.note(problem("is not a list of `name: value` lines.", line: root.mark?.line))
            }
            return
        }
        take(mapping, prefix: "", into: &layer)
    }

    private func take(_ mapping: Node.Mapping, prefix: String, into layer: inout ConfigurationLayer) {
        for (key, value) in mapping {
            guard let text = key.scalar?.string else {
                layer.note(problem("a name is expected here.", line: key.mark?.line))
                continue
            }
            if text.hasSuffix(DuplicateKeys.marker) { continue }
            let name = prefix + text
            let place = ConfigurationProblem.Place.file(path, line: key.mark?.line)
            if let setting = SettingsTable.setting(named: name) {
                guard scope.includes(setting) else { continue }
                take(setting, value, at: place, into: &layer)
            } else if SettingsTable.all.contains(where: { $0.name.hasPrefix(name + ".") }) {
                if let section = value.mapping {
                    take(section, prefix: name + ".", into: &layer)
                } else if !isEmpty(value), scope != .bindingUsers {
                    layer.note(
                        ConfigurationProblem(
                            place: place, name: name,
                            message: "is a section; write its settings indented on the lines below it."))
                }
            } else if scope != .bindingUsers {
                layer.note(.unknown(name, at: place))
            }
        }
    }

    private func take(
        _ setting: Setting, _ value: Node, at place: ConfigurationProblem.Place, into layer: inout ConfigurationLayer
    ) {
        switch value {
        case .scalar(let scalar) where isEmpty(value) && scalar.style == .plain:
            layer.note(
                ConfigurationProblem(
                    place: place, name: setting.name,
                    message: "has no value; give \(setting.kind.accepts), or remove the line."))
        case .scalar(let scalar):
            layer.take(setting, text: scalar.string, at: place)
        case .sequence(let items):
            // An item that is no scalar becomes null, which no list accepts.
            let values = items.map { item in item.scalar.map { JSONValue.string($0.string) } ?? .null }
            layer.take(setting, value: .array(values), at: place)
        case .mapping, .alias:
            layer.note(
                ConfigurationProblem(
                    place: place, name: setting.name,
                    message: "holds other settings, but takes \(setting.kind.accepts)."))
        }
    }

    private func isEmpty(_ node: Node) -> Bool {
        node.scalar.map { ["", "~", "null"].contains($0.string) } ?? false
    }

    /// Composes the document; a name given twice is noted and its repeats set aside so that the rest is checked too.
    private func compose(_ text: String, into layer: inout ConfigurationLayer) -> Node? {
        var text = text
        while true {
            do {
                return try Yams.compose(yaml: Self.lasting(text)) ?? Node("")
            } catch YamlError.duplicatedKeysInMapping(let names, let context) {
                let repeats = DuplicateKeys.setAside(names, after: context.mark, in: &text)
                for (name, line) in repeats {
                    layer.note(
                        ConfigurationProblem(
                            place: .file(path, line: line), name: name,
                            message: "is given twice (first on line \(context.mark.line)); remove one of the two."))
                }
                guard repeats.isEmpty else { continue }
                layer.note(
                    problem("\(names.joined(separator: ", ")): given twice; remove one.", line: context.mark.line))
                return nil
            } catch {
                layer.note(syntaxProblem(error))
                return nil
            }
        }
    }

    /// The same text in memory of its own: the library reads on through a pointer that it was lent, and a text of up to
    /// 15 bytes lies in the frame of whoever holds it.
    static func lasting(_ text: String) -> String {
        var text = text
        text.reserveCapacity(16)
        return text
    }

    private func syntaxProblem(_ error: any Error) -> ConfigurationProblem {
        switch error as? YamlError {
        case .scanner(_, let what, let mark, _), .parser(_, let what, let mark, _), .composer(_, let what, let mark, _):
            problem("is not valid YAML: \(what).", line: mark.line)
        case .reader(let what, _, _, _):
            problem("is not valid YAML: \(what).")
        case .dataCouldNotBeDecoded:
            problem("is not UTF-8 text.")
        case .no, .memory, .writer, .emitter, .representer, .duplicatedKeysInMapping, nil:
            problem("is not valid YAML: \(error).")
        }
    }

    private func problem(_ message: String, line: Int? = nil) -> ConfigurationProblem {
        ConfigurationProblem(place: .file(path, line: line), name: "", message: message)
    }
}

/// Renames repeated keys in a file's text, because the YAML library reports only that there are some, then gives up.
enum DuplicateKeys {
    /// Ends the names of keys that were set aside; no setting can have it.
    static let marker = "\u{1F}repeated"
    private static let writtenMarker = "\\x1Frepeated"

    /// - Parameter mark: the first of the equal keys.
    /// - Returns: name and line of each repeat found below it at the same indentation.
    static func setAside(_ names: [String], after mark: Mark, in text: inout String) -> [(String, Int)] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let indentation = String(repeating: " ", count: max(0, mark.column - 1))
        var seen: Set<String> = []
        var repeats: [(String, Int)] = []
        for index in lines.indices where index + 1 >= mark.line && lines[index].hasPrefix(indentation) {
            let rest = lines[index].dropFirst(indentation.count)
            guard let name = names.first(where: { rest.hasPrefix("\($0):") }) else { continue }
            guard !seen.insert(name).inserted else { continue }
            lines[index] =
                "\(indentation)\"\(name)\(index)\(writtenMarker)\"" + rest.dropFirst(name.count)
            repeats.append((name, index + 1))
        }
        text = lines.joined(separator: "\n")
        return repeats
    }
}
