import TransferModel
import TransferRPC

/// Translates the daemon's sentences from the words of the protocol into those of this program: methods become
/// commands, and fields become the options and arguments that set them.
enum CommandWords {
    /// - Parameter task: the task that the sentence is about.
    static func text(_ sentence: String, task: TaskID? = nil) -> String {
        Printable.text(withLocalTimes(ProtocolWords.asCommands(sentence, task: task)), limit: .max)
    }

    /// Writes the times of the protocol, which are words like `2026-01-31T08:00:00.123Z`, as tables show them.
    private static func withLocalTimes(_ sentence: String) -> String {
        guard sentence.contains("Z") else { return sentence }
        return sentence.split(separator: " ", omittingEmptySubsequences: false).map { word in
            guard let end = word.lastIndex(of: "Z"), word[end...].dropFirst().allSatisfy({ ".,;:)".contains($0) }),
                let time = Timestamp(String(word[...end])), time.description == word[...end]
            else { return String(word) }
            return LocalTime.text(time) + word[end...].dropFirst()
        }.joined(separator: " ")
    }

    /// A refusal, with the option or argument in place of the field.
    /// - Parameter subject: names the task at fault if there are several.
    static func refusal(_ error: TransferError, about subject: String? = nil) -> String {
        guard let path = field(error) else { return with(subject, text(error.message)) }
        let reason = text(String(error.message.dropFirst(path.count + 2)))
        let label = argument(path)
        return with(subject, ["", "URL", "FILE"].contains(label) ? reason : "\(label): \(reason)")
    }

    /// The field at the beginning of the message: that of the details, or one of a task.
    private static func field(_ error: TransferError) -> String? {
        if let path = error.details["field"]?.stringValue, error.message.hasPrefix(path + ": ") { return path }
        guard error.message.hasPrefix("tasks["), let end = error.message.firstRange(of: ": ") else { return nil }
        let path = String(error.message[..<end.lowerBound])
        return path.contains(" ") ? nil : path
    }

    private static func with(_ subject: String?, _ text: String) -> String {
        subject.map { "\(Printable.text($0)): \(text)" } ?? text
    }

    /// `tasks[0].destination.path` → `-o`; names of settings stay as they are. Empty for a whole task.
    static func argument(_ path: String) -> String {
        var parts = path.split(separator: ".").map { $0.prefix { $0 != "[" } }
        if parts.first == "configuration" { return parts.dropFirst().joined(separator: ".") }
        let isOfTask = parts.first == "tasks"
        if isOfTask { parts.removeFirst() }
        if parts == ["id"] { return "the session's name" }
        if let option = ProtocolWords.options[parts.joined(separator: ".")] { return option }
        return parts.first.flatMap { ProtocolWords.options[String($0)] }
            ?? Printable.text(isOfTask ? parts.joined(separator: ".") : path)
    }

    /// The task of a request that a refusal is about; nil if it is not about a task.
    static func taskIndex(_ error: TransferError) -> Int? {
        guard let path = error.details["field"]?.stringValue, path.hasPrefix("tasks["),
            let end = path.firstIndex(of: "]")
        else { return nil }
        return Int(path[..<end].dropFirst("tasks[".count))
    }
}
