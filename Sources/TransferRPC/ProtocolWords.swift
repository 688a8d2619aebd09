import TransferModel

/// Translates sentences from the words of the protocol into those of dlctl, for its output and for the log: methods become
/// commands, fields the options and arguments that set them.
package enum ProtocolWords {
    /// - Parameter task: the one that the sentence is about.
    package static func asCommands(_ sentence: String, task: TaskID? = nil) -> String {
        let id = task.map { "\($0)" } ?? "ID"
        var result = ""
        var rest = Substring(sentence)
        while let first = rest.first {
            let word = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "_") }
            if word.isEmpty {
                result.append(first)
                rest.removeFirst()
                continue
            }
            let name = word.last == "." ? word.dropLast() : word
            if name == "task.update" {
                rest = rest.dropFirst(name.count)
                result += "dlctl update \(id)" + option(takenFrom: &rest)
                continue
            }
            let isInPath = result.last == "/" || rest.dropFirst(name.count).first == "/"
            result += isInPath ? String(name) : command(name, id) ?? option(name) ?? String(name)
            rest = rest.dropFirst(name.isEmpty ? 1 : name.count)
            if name.isEmpty { result.append(first) }
        }
        return result
    }

    /// `(task.update, proxy)` names the field that is to be changed.
    private static func option(takenFrom rest: inout Substring) -> String {
        guard rest.hasPrefix(", "), let end = rest.firstIndex(of: ")") else { return "" }
        let field = rest[..<end].dropFirst(2)
        guard let option = updateOptions[String(field)] else { return "" }
        rest = rest[end...]
        return " " + option
    }

    private static func command(_ name: Substring, _ id: String) -> String? {
        switch name {
        case "task.retry": "dlctl retry \(id)"
        case "sourceChanged": "--source-changed"
        case "events.subscribe": "dlctl events --subscriber"
        case "task.add": "dlctl add"
        case "decision.list": "dlctl decisions"
        case "decision.answer": "dlctl answer"
        case "credentials.set": "dlctl credential add"
        case "credentials.remove": "dlctl credential remove"
        case "hsts.remove": "dlctl hsts remove"
        case "trust.remove": "dlctl trust remove"
        case "task.resumeData": "dlctl cancel --resume-data"
        case "session.open": "dlctl session open"
        case "settings.set": "dlctl settings"
        default: nil
        }
    }

    private static let updateOptions = [
        "proxy": "--proxy URL", "interface": "--interface DEVICE", "caFile": "--ca-file FILE",
    ]

    /// For a field whose name is not an English word.
    private static func option(_ name: Substring) -> String? {
        name.contains(where: \.isUppercase) ? options[String(name)] : nil
    }

    /// Options and arguments by the field that they set: those of a task's members, and others.
    package static let options: [String: String] = TaskSpec.shape.rows.reduce(
        into: [
            "destination.path": "-o",
            "destination.filename": "-o",
            "destination.directory": "-d",
            "position": "--position",
            "session": "-s",
            "match": "--match",
            "limit": "-n",
            "owner": "--owner",
            "states": "--state",
            "subscriber": "--subscriber",
            "after": "--after",
        ]
    ) { options, row in options[row.name] = row.option }
}
