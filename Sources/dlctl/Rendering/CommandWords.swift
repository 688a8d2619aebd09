import TransferModel

/// Translates the daemon's sentences from the words of the protocol into those of this program: methods become commands, fields the
/// options and arguments that set them.
enum CommandWords {
    /// - Parameter task: the one that the sentence is about.
    static func text(_ sentence: String, task: TaskID? = nil) -> String {
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
        return Printable.text(result, limit: .max)
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
        case "task.resumeData": "dlctl cancel --resume-data"
        case "session.open": "dlctl session open"
        case "settings.set": "dlctl settings"
        default: nil
        }
    }

    private static let updateOptions = ["proxy": "--proxy URL", "caFile": "--ca-file FILE"]

    /// For a field whose name is not an English word.
    private static func option(_ name: Substring) -> String? {
        name.contains(where: \.isUppercase) ? options[String(name)] : nil
    }

    /// Options and arguments by the field that they set, without those of its parts.
    private static let options = [
        "url": "URL", "mirrors": "--mirror", "headers": "-H", "username": "--user", "password": "--user",
        "bearer": "--bearer-file", "cookies": "--cookies", "netrc": "--netrc", "proxy": "--proxy",
        "caFile": "--ca-file",
        "clientCertificate": "--cert", "tlsMinimumVersion": "--tls-min", "httpVersion": "--http-version",
        "acceptsAnyStatus": "--accept-any-status",
        "checksum": "--checksum", "destination": "-d",
        "destination.path": "-o", "destination.filename": "-o", "destination.directory": "-d",
        "conflictPolicy": "--on-conflict", "preserveTime": "--preserve-time", "connections": "-x",
        "resumeData": "--resume-data", "priority": "--priority", "rateLimit": "--limit", "earliestBeginAt": "--at",
        "deadlineAt": "--deadline", "startPaused": "--paused", "retry": "--retry",
        "timeoutIntervalForRequest": "--timeout", "timeoutIntervalForResource": "--max-time",
        "description": "--description", "tags": "--tag", "clientToken": "--client-token", "source": "FILE",
        "body": "-d", "method": "-X", "uploadProtocol": "--protocol", "fileName": "--file-name",
        "contentType": "--content-type", "uploadMetadata": "--metadata", "formField": "--form", "formFields": "--field",
        "interopVersion": "--interop-version", "uploadChecksum": "--send-checksum", "s3": "--s3",
        "position": "--position", "session": "-s", "match": "--match", "limit": "-n", "owner": "--owner",
        "states": "--state", "subscriber": "--subscriber", "after": "--after",
    ]

    /// A refusal, with the option or argument in place of the field.
    /// - Parameter subject: of several tasks, the one that is meant.
    static func refusal(_ error: TransferError, about subject: String? = nil) -> String {
        guard let path = error.details["field"]?.stringValue, error.message.hasPrefix(path + ": ") else {
            return with(subject, text(error.message))
        }
        let reason = text(String(error.message.dropFirst(path.count + 2)))
        let label = argument(path)
        return with(subject, label == "URL" || label == "FILE" ? reason : "\(label): \(reason)")
    }

    private static func with(_ subject: String?, _ text: String) -> String {
        subject.map { "\(Printable.text($0)): \(text)" } ?? text
    }

    /// `tasks[0].destination.path` → `-o`; names of settings stay as they are.
    static func argument(_ path: String) -> String {
        var parts = path.split(separator: ".").map { $0.prefix { $0 != "[" } }
        if parts.first == "configuration" { return parts.dropFirst().joined(separator: ".") }
        if parts.first == "tasks" { parts.removeFirst() }
        if parts == ["id"] { return "the session's name" }
        if let option = options[parts.joined(separator: ".")] { return option }
        return parts.first.flatMap { options[String($0)] } ?? Printable.text(path)
    }

    /// Which task of a request a refusal is about; nil if it is about none of them.
    static func taskIndex(_ error: TransferError) -> Int? {
        guard let path = error.details["field"]?.stringValue, path.hasPrefix("tasks["),
            let end = path.firstIndex(of: "]")
        else { return nil }
        return Int(path[..<end].dropFirst("tasks[".count))
    }
}
