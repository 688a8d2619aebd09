/// The settings that one YAML file gives, under their dotted names, and what is wrong with the file.
package struct SettingsFile {
    package struct Given {
        package let name: String
        package let value: YAMLNode
        package let place: ConfigurationProblem.Place
    }

    package private(set) var given: [Given] = []
    package private(set) var problems: [ConfigurationProblem] = []
    private let path: String
    private let names: [String]
    private let manual: String

    /// In bytes.
    private static let sizeLimit = 1 << 20

    /// Reads the file.
    /// - Parameters:
    ///   - names: all settings that there are.
    ///   - manual: the document that lists them.
    ///   - required: whether a missing file is a mistake (`--config`).
    /// - Returns: nil if the file does not exist.
    package init?(_ path: String, names: [String], manual: String, required: Bool = false) {
        (self.path, self.names, self.manual) = (path, names, manual)
        switch FileText.read(path, limit: Self.sizeLimit) {
        case .missing where !required: return nil
        case .missing: note("no such file; name an existing one with --config.", at: nil)
        case .failed(let reason): note("cannot be read: \(reason).", at: nil)
        case .text(let text): take(text)
        }
    }

    private mutating func note(_ message: String, of name: String = "", at line: Int?) {
        problems.append(ConfigurationProblem(place: .file(path, line: line), name: name, message: message))
    }

    private mutating func take(_ text: String) {
        do {
            // A file without a document sets nothing.
            guard let root = try YAMLDocument.parse(text) else { return }
            switch root.content {
            case .mapping(let members): take(members, prefix: "")
            // A document with only comments is an empty scalar.
            case .scalar("", _): break
            case .scalar, .sequence: note("is not a list of `name: value` lines.", at: root.line)
            }
        } catch {
            note("is not valid YAML: \(error.message).", at: error.line)
        }
    }

    private mutating func take(_ members: [YAMLNode.Member], prefix: String) {
        var first: [String: Int] = [:]
        for (key, value) in members.map({ ($0.key, $0.value) }) {
            guard let text = key.text else {
                note("a name is expected here.", at: key.line)
                continue
            }
            let name = prefix + text
            if let line = first[name] {
                note("is given twice (first on line \(line)); remove one of the two.", of: name, at: key.line)
                continue
            }
            first[name] = key.line
            if names.contains(name) {
                given.append(Given(name: name, value: value, place: .file(path, line: key.line)))
            } else if !names.contains(where: { $0.hasPrefix(name + ".") }) {
                problems.append(.unknown(name, among: names, manual, at: .file(path, line: key.line)))
            } else if case .mapping(let section) = value.content {
                take(section, prefix: name + ".")
            } else if !value.isEmpty {
                note("is a section; write its settings indented on the lines below it.", of: name, at: key.line)
            }
        }
    }
}

extension YAMLNode {
    /// Nothing, or YAML's words for it.
    package var isEmpty: Bool { text.map { ["", "~", "null"].contains($0) } ?? false }
}

extension ConfigurationProblem {
    /// A name that is not among `names`, with the one that was probably meant.
    package static func unknown(
        _ name: String, among names: [String], _ manual: String, at place: Place
    ) -> ConfigurationProblem {
        let nearest = Suggestion.nearest(to: name, among: names)
        let advice = nearest.map { "did you mean \($0)?" } ?? "remove it; \(manual) lists the settings."
        return ConfigurationProblem(place: place, name: name, message: "no such setting; \(advice)")
    }
}
