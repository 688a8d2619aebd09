import TransferModel

/// Writes a change of a task as one lasting line: above the live display when a task ends, or for every change if the
/// output is not a terminal.
enum ChangeLine {
    /// `✓ name  12.0 MiB in 3.1s`; only for tasks that are over.
    static func ending(_ task: FollowedTask, width: Int?) -> StyledText {
        let isDone = task.state == .completed && !task.isRemoved
        var line = StyledText(isDone ? "✓" : "✗", task.isRemoved ? .faint : task.state.tone)
        line.append(" ")
        line.append(task.name, .strong)
        line.append("  ")
        line.append(task.ending, task.state == .completed ? .plain : .bad)
        return width.map { line.cut(to: $0) } ?? line
    }

    /// One line for a log.
    static func log(_ change: FollowState.Change, now: Timestamp) -> String? {
        switch change {
        case .state(let task): "\(task.id) \(task.name): \(task.standing(now: now, isLive: false))"
        case .resumed(let task, let offset):
            offset.rawValue > 0 ? "\(task.id) \(task.name): resumed at \(Figures.bytes(offset))" + of(task) : nil
        case .repaired(let task, let pieces):
            "\(task.id) \(task.name): \(pieces.count == 1 ? "a wrong piece is" : "wrong pieces are") fetched again"
        case .restarted(let task, let code): "\(task.id) \(task.name): restarted from 0 (\(Printable.text(code)))"
        case .asked: nil
        case .linkLost: "waiting for the daemon"
        case .linkRestored: "the daemon is back"
        }
    }

    /// The task's question to its owner; nil for other changes.
    static func question(_ change: FollowState.Change) -> String? {
        guard case .asked(let task) = change else { return nil }
        return "\(task.id) \(task.name): it asks for a decision; 'dlctl decisions' shows it, and how to answer."
    }

    /// What a paused task waits for; nil for other changes.
    static func pause(_ change: FollowState.Change) -> String? {
        guard case .state(let task) = change, task.state == .paused, !task.isRemoved else { return nil }
        return "\(task.id) \(task.name): \(task.paused())"
    }

    /// `12 file.iso: 43%, 1.2 GiB of 2.8 GiB, 31.2 MiB/s, ETA 52s`.
    static func progress(_ task: FollowedTask) -> String {
        var parts: [String] = []
        if let decoded = task.decoded { parts.append("\(Figures.bytes(decoded)) decoded") }
        if let percent = task.percent { parts.append("\(percent)%") }
        parts.append(Figures.bytes(task.received) + of(task))
        parts.append(Figures.rate(task.rate))
        if let remaining = task.remaining { parts.append("ETA " + Figures.duration(remaining)) }
        return "\(task.id) \(task.name): " + parts.joined(separator: ", ")
    }

    private static func of(_ task: FollowedTask) -> String {
        task.expected.map { " of " + Figures.bytes($0) } ?? ""
    }
}
