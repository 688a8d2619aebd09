import TransferModel
import TransferRPC

/// The table of `session list`.
enum SessionTable {
    static func render(_ sessions: [SessionView], width: Int?) -> [StyledText] {
        var table = Table(columns: [
            .init(title: "SESSION", isFlexible: true),
            .init(title: "STATE"),
            .init(title: "RUNNING", alignsRight: true, dispensability: 2),
            .init(title: "QUEUED", alignsRight: true, dispensability: 3),
            .init(title: "DONE", alignsRight: true, dispensability: 4),
            .init(title: "FAILED", alignsRight: true, dispensability: 1),
            .init(title: "OWNER", alignsRight: true, dispensability: 6),
            .init(title: "UNSEEN", alignsRight: true, dispensability: 5),
        ])
        table.rows = sessions.map { session in
            func count(_ states: TaskState...) -> StyledText {
                StyledText(String(states.reduce(0) { $0 + (session.tasks[$1.rawValue] ?? 0) }))
            }
            return [
                StyledText(Printable.text(session.id), .strong),
                StyledText(state(session), session.state == .active ? .plain : .faint),
                count(.running), count(.queued, .waiting, .paused), count(.completed), count(.failed),
                StyledText(session.owner.description), StyledText(String(session.unacknowledgedEvents)),
            ]
        }
        return table.render(width: width)
    }

    /// A paused session accepts tasks, but runs none.
    static func state(_ session: SessionView) -> String {
        guard session.paused == true else { return session.state.rawValue }
        return session.state == .active ? "paused" : "\(session.state.rawValue), paused"
    }
}

/// One session with its settings.
enum SessionSheet {
    static func render(_ session: SessionView) -> [StyledText] {
        var sheet = Sheet()
        sheet.add("session", Printable.text(session.id), .strong)
        sheet.add("kind", session.kind.rawValue)
        sheet.add("state", SessionTable.state(session))
        sheet.add("owner", "uid \(session.owner)")
        sheet.add("opened", LocalTime.text(session.createdAt))
        for state in TaskState.allCases {
            if let count = session.tasks[state.rawValue], count > 0 { sheet.add(state.rawValue, String(count)) }
        }
        sheet.add("unseen events", String(session.unacknowledgedEvents))
        for (name, value) in settings(session.configuration) { sheet.add(name, Printable.text(value)) }
        return sheet.render()
    }

    private static func settings(_ configuration: SessionConfiguration) -> [(String, String)] {
        guard case .object(let members)? = JSONText.value(Console.encode(configuration)) else { return [] }
        return members.sorted { $0.key < $1.key }.map { name, value in
            (name, Assignment.Form(of: name)?.text(value) ?? JSONText.plain(value))
        }
    }
}
