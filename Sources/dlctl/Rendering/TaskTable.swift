import Glibc
import TransferModel
import TransferRPC

/// The table of `list`, page by page.
struct TaskTable {
    private var table: Table
    private let width: Int?
    private let now: Timestamp
    private let showsOwner: Bool
    private var hasHeader = false
    private var names: [UserID: String] = [:]

    /// - Parameter width: nil for the width of the content.
    init(width: Int?, now: Timestamp, showsOwner: Bool = false) {
        self.width = width
        self.now = now
        self.showsOwner = showsOwner
        let owner = showsOwner ? [Table.Column(title: "OWNER")] : []
        table = Table(
            [.init(title: "ID", alignsRight: true)] + owner + [
                .init(title: "STATE"),
                .init(title: "DONE", alignsRight: true, dispensability: 1),
                .init(title: "SIZE", alignsRight: true, dispensability: 2),
                .init(title: "RATE", alignsRight: true, dispensability: 3),
                .init(title: "LEFT", alignsRight: true, dispensability: 4),
                .init(title: "SESSION", dispensability: 6),
                .init(title: "ADDED", alignsRight: true, dispensability: 5),
                .init(title: "NAME", isFlexible: true),
            ])
    }

    /// The lines of the next tasks. The first page begins with the header.
    mutating func render(_ tasks: [TaskView]) -> [StyledText] {
        guard !tasks.isEmpty else { return [] }
        let rows = tasks.map { task in
            var row = Self.row(task, now: now)
            if showsOwner { row.insert(StyledText(Printable.text(name(of: task.owner), limit: 16)), at: 1) }
            return row
        }
        table.continued(with: rows)
        let lines = table.render(width: width)
        defer { hasHeader = true }
        return Array(lines.dropFirst(hasHeader ? 1 : 0))
    }

    private static func row(_ task: TaskView, now: Timestamp) -> [StyledText] {
        let percent = task.state == .completed ? 100 : task.whole.flatMap { Figures.percent(task.moved, of: $0) }
        let size = task.whole ?? (task.moved.rawValue > 0 ? task.moved : nil)
        return [
            StyledText(task.id.description, .strong),
            StyledText(state(task), task.state.tone),
            StyledText(percent.map { "\($0)%" } ?? "-"),
            StyledText(size.map(Figures.bytes) ?? "-"),
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

    /// The user's name in the system's database, or the number. Each is looked up once.
    mutating func name(of user: UserID) -> String {
        if let name = names[user] { return name }
        let name = getpwuid(user.rawValue).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? "\(user)"
        names[user] = name
        return name
    }
}
