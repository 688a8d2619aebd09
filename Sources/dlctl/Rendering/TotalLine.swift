import TransferModel

/// The line below the tasks: the number of tasks in each state, and the total progress.
struct TotalLine: Hashable {
    var counts: [TaskState: Int] = [:]
    var received: ByteCount = 0
    /// nil if one of the lengths is unknown.
    var expected: ByteCount? = 0
    var rate: ByteRate = 0
    /// What the slowest task still needs.
    private var longest: Seconds = 0

    init(_ state: FollowState) {
        for task in state.tasks.values {
            counts[task.isRemoved && !task.state.isFinal ? .cancelled : task.state, default: 0] += 1
            if task.hasFailed || task.isRemoved { continue }
            received = ByteCount(received.rawValue.adding(task.received.rawValue))
            rate = ByteRate(rate.rawValue.adding(task.rate.rawValue))
            if !task.isOver { longest = max(longest, task.remaining ?? 0) }
            if let length = task.expected, let sum = expected {
                expected = ByteCount(sum.rawValue.adding(length.rawValue))
            } else {
                expected = nil
            }
        }
        counts[.queued, default: 0] += state.backlog.queued
        counts[.waiting, default: 0] += state.backlog.waiting
        counts[.paused, default: 0] += state.backlog.paused
        if state.backlog.queued > 0 { expected = nil }
    }

    /// The time left at the current rate, at least that of the slowest task; nil if length or rate is unknown.
    var remaining: Seconds? {
        guard let expected, rate.rawValue > 0, expected > received else { return nil }
        return max(longest, Seconds(rawValue: Double((expected - received).rawValue) / Double(rate.rawValue)))
    }

    func render(width: Int) -> StyledText {
        var parts: [StyledText] = []
        for state in [TaskState.running, .queued, .waiting, .paused, .completed, .failed, .cancelled] {
            guard let count = counts[state], count > 0 else { continue }
            parts.append(StyledText("\(count) \(state == .completed ? "done" : state.rawValue)", state.tone))
        }
        if let expected, let percent = Figures.percent(received, of: expected) { parts.append("\(percent)%") }
        if received.rawValue > 0 {
            let whole = expected.map { " of " + Figures.bytes($0) } ?? ""
            parts.append(StyledText(Figures.bytes(received) + whole))
        }
        if rate.rawValue > 0 { parts.append(StyledText(Figures.rate(rate), .good)) }
        if let remaining { parts.append(StyledText("ETA " + Figures.duration(remaining), .accent)) }
        // Drops whole parts from the end before one is cut in two.
        while parts.count > 1, Self.joined(parts).width > width { parts.removeLast() }
        return Self.joined(parts).cut(to: width)
    }

    private static func joined(_ parts: [StyledText]) -> StyledText {
        var line = StyledText()
        for (index, part) in parts.enumerated() {
            if index > 0 { line.append(" · ", .faint) }
            line += part
        }
        return line
    }
}
