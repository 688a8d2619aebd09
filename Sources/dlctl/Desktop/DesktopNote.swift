import SystemBus
import TransferModel
import TransferRPC

/// What notifications say.
enum DesktopNote {
    /// What the user can do about a note. The raw value is its key.
    enum Action: String, CaseIterable {
        case open, folder, details

        var label: String {
            switch self {
            case .open: "Open"
            case .folder: "Show in folder"
            case .details: "Details"
            }
        }
    }

    /// The events that are worth a notification.
    static let types: [EventType] = [.taskCompleted, .taskFailed, .taskDecision]

    /// - Parameter name: of the task.
    static func of(_ event: EventView, name: String) -> Desktop.Note {
        let hasFile = event.file != nil
        return Desktop.Note(
            summary: "\(word(event.type).capitalized): \(name)", body: escaped(text(event)),
            actions: actions(hasFile ? [.open, .folder, .details] : [.details]))
    }

    /// One note about many events: `12 done, 3 failed`.
    static func of(_ counts: [EventType: Int], names: [String]) -> Desktop.Note {
        let words = types.compactMap { type in counts[type].map { "\($0) \(word(type))" } }
        let rest = counts.values.reduce(0, +) - names.count
        return Desktop.Note(
            summary: "Downloads: " + words.joined(separator: ", "),
            body: escaped((names + (rest > 0 ? ["and \(rest) more"] : [])).joined(separator: "\n")),
            actions: actions([.details]))
    }

    /// Shows one note, and returns when a server has it. Without a server, this gives up after some seconds.
    static func tell(_ summary: String, _ text: String, within limit: Duration = .seconds(5)) async {
        let (news, continuation) = AsyncStream.makeStream(of: Desktop.News.self)
        let desktop = Desktop { continuation.yield($0) }
        let note = Desktop.Note(summary: summary, body: escaped(text))
        desktop.start()
        desktop.show(note, as: 0)
        let timer = Task {
            try await Task.sleep(for: limit)
            continuation.finish()
        }
        defer {
            timer.cancel()
            desktop.stop()
        }
        for await one in news {
            switch one {
            case .taken, .refused: return
            case .ready, .chosen: break
            }
        }
    }

    private static func actions(_ actions: [Action]) -> [(key: String, label: String)] {
        actions.map { ($0.rawValue, $0.label) }
    }

    private static func word(_ type: EventType) -> String {
        switch type {
        case .taskCompleted: "done"
        case .taskFailed: "failed"
        default: "asks"
        }
    }

    private static func text(_ event: EventView) -> String {
        switch event.type {
        case .taskCompleted:
            return [
                event["bytes"]?.integerValue.map { Figures.bytes(ByteCount($0)) },
                event.file.map { Printable.text(PathText.folder(of: $0)) },
            ].compactMap { $0 }.joined(separator: ", ")
        case .taskFailed:
            guard let task = event.task, let value = event["error"],
                let error = try? JSONCoding.decode(
                    TransferError.self, from: JSONCoding.encode(value), lenient: true)
            else { return EventLine.details(event) }
            return CommandWords.text(error.message, task: task) + "\n" + Advice.on(error, task: task).text
        default: return EventLine.details(event)
        }
    }

    /// Text as markup (Desktop Notifications Specification, Markup).
    static func escaped(_ text: String) -> String {
        Printable.lines(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}

extension EventView {
    /// The delivered file.
    var file: String? { self["file"]?.stringValue }
}
