import TransferModel

/// The size in cells.
struct TerminalSize: Hashable, Sendable {
    var columns: Int
    var rows: Int
}

/// Draws the live display: state in, lines out. No line is wider than the terminal, and there are no more lines than
/// rows.
enum LiveView {
    /// - Parameter tick: counts redraws. It moves the bars of tasks whose length is unknown.
    static func render(_ state: FollowState, size: TerminalSize, now: Timestamp, tick: Int) -> [StyledText] {
        // One cell stays free, because some terminals wrap as soon as the last one is filled.
        let width = max(1, size.columns - 1)
        var footer: [StyledText] = []
        if state.tasks.count != 1 || !state.backlog.isEmpty { footer.append(TotalLine(state).render(width: width)) }
        if case .waiting(let next) = state.link { footer.append(linkLine(next, now: now).cut(to: width)) }
        if state.tasks.isEmpty, state.backlog.isEmpty, state.link == .connected {
            return [StyledText("nothing is running", .faint).cut(to: width)]
        }
        let room = max(1, size.rows - 1 - footer.count)
        return Array(
            (taskLines(state, width: width, room: room, now: now, tick: tick) + footer).prefix(max(1, size.rows - 1)))
    }

    private static func taskLines(
        _ state: FollowState, width: Int, room: Int, now: Timestamp, tick: Int
    ) -> [StyledText] {
        let tasks = ordered(state)
        let shown = tasks.count <= room ? tasks : Array(tasks.prefix(max(0, room - 1)))
        let columns = TaskLine.Columns(
            width: width, longestName: shown.map { DisplayWidth.of($0.name) }.max() ?? 0,
            longestID: shown.map { $0.id.description.count }.max() ?? 0)
        var lines = shown.map { TaskLine.render($0, columns: columns, width: width, now: now, tick: tick) }
        if shown.count < tasks.count {
            lines.append(StyledText("… and \(tasks.count - shown.count) more", .faint).cut(to: width))
        }
        return lines
    }

    /// Running tasks first, then waiting ones, then the rest; in the given order within each group.
    private static func ordered(_ state: FollowState) -> [FollowedTask] {
        let tasks = state.all.filter { !$0.isOver }
        return tasks.filter { rank($0.state) == 0 } + tasks.filter { rank($0.state) == 1 }
            + tasks.filter { rank($0.state) == 2 }
    }

    private static func rank(_ state: TaskState) -> Int {
        switch state {
        case .running: 0
        case .waiting: 1
        case .queued, .paused, .completed, .failed, .cancelled: 2
        }
    }

    private static func linkLine(_ next: Timestamp, now: Timestamp) -> StyledText {
        let wait = next > now ? ", next try in \(Figures.duration(next.since(now)))" : ""
        return StyledText("waiting for the daemon" + wait, .warning)
    }
}
