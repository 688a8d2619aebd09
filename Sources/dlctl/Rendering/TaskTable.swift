import TransferModel
import TransferRPC

/// The table of `list`.
enum TaskTable {
    static func render(_ tasks: [TaskView], width: Int?, now: Timestamp) -> [StyledText] {
        var table = Table(columns: [
            .init(title: "ID", alignsRight: true),
            .init(title: "STATE"),
            .init(title: "DONE", alignsRight: true, dispensability: 1),
            .init(title: "SIZE", alignsRight: true, dispensability: 2),
            .init(title: "RATE", alignsRight: true, dispensability: 3),
            .init(title: "LEFT", alignsRight: true, dispensability: 4),
            .init(title: "SESSION", dispensability: 6),
            .init(title: "ADDED", alignsRight: true, dispensability: 5),
            .init(title: "NAME", isFlexible: true),
        ])
        table.rows = tasks.map { row($0, now: now) }
        return table.render(width: width)
    }

    private static func row(_ task: TaskView, now: Timestamp) -> [StyledText] {
        let isUpload = task.spec.kind == .upload
        let length = isUpload ? task.bytesToSend : task.bytesExpected
        let expected = length >= 0 ? ByteCount(length) : nil
        let received = ByteCount(isUpload ? task.bytesSent : task.bytesReceived)
        let percent = task.state == .completed ? 100 : expected.flatMap { Figures.percent(received, of: $0) }
        return [
            StyledText(task.id.description, .strong),
            StyledText(state(task), TaskWords.tone(task.state)),
            StyledText(percent.map { "\($0)%" } ?? "-"),
            StyledText(size(received, expected)),
            StyledText(task.rate.rawValue > 0 ? Figures.rate(task.rate) : "-"),
            StyledText(task.eta.map(Figures.duration) ?? "-"),
            StyledText(Printable.text(task.session, limit: 16)),
            StyledText(Figures.age(now.since(task.createdAt)) + " ago", .faint),
            StyledText(TaskName.of(task)),
        ]
    }

    private static func state(_ task: TaskView) -> String {
        if task.state == .waiting, let reason = task.reason { return "waiting:\(reason.rawValue)" }
        if task.state == .running, let phase = task.phase, phase != .transferring { return phase.rawValue }
        return task.state.rawValue
    }

    private static func size(_ received: ByteCount, _ expected: ByteCount?) -> String {
        if let expected { return Figures.bytes(expected) }
        return received.rawValue > 0 ? Figures.bytes(received) : "-"
    }
}
