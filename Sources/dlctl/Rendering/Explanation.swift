import TransferModel
import TransferRPC

/// Answers the question why a task is not running: the summary of the task, then its history.
enum Explanation {
    static func render(_ summary: TaskSummary, width: Int? = nil) -> [StyledText] {
        let lines = summary.render(width: width)
        if summary.events.isEmpty { return lines }
        let story = history(summary.events)
        return lines + ["", StyledText("So far:", .faint)]
            + (width.map { width in story.flatMap { $0.wrapped(to: width, indent: 8) } } ?? story)
    }

    /// The most redirects in a row that are shown.
    private static let shownRedirects = 3

    private static func history(_ events: [EventView]) -> [StyledText] {
        attempts(in: events).flatMap { attempt, repeats, last in
            lines(attempt) + (repeats < 1 ? [] : [more(repeats, until: last)])
        }
    }

    /// The events of each attempt, up to the event that says how it ended. Equal attempts in a row are reported once.
    private static func attempts(
        in events: [EventView]
    ) -> [(events: [EventView], repeats: Int, last: Timestamp)] {
        var told: [(events: [EventView], repeats: Int, last: Timestamp)] = []
        var rest = events[...]
        while let first = rest.first {
            let end =
                rest.firstIndex { $0.type == .taskWaiting || $0.type == .taskAdded }.map { $0 + 1 } ?? rest.endIndex
            let attempt = Array(rest[..<end])
            rest = rest[end...]
            let last = attempt.last?.time ?? first.time
            if let before = told.last, words(attempt) == words(before.events) {
                told[told.count - 1] = (before.events, before.repeats + 1, last)
            } else {
                told.append((attempt, 0, last))
            }
        }
        return told
    }

    /// The words for an attempt, without the values that differ in each. Whether the task was queued before does not
    /// count.
    private static func words(_ attempt: [EventView]) -> [String] {
        attempt.filter { $0.type != .taskQueued }.map { event in
            var event = event
            for name in ["attempt", "nextAttemptAt", "decision"] { event.payload[name] = nil }
            return "\(event.type.rawValue) \(EventLine.details(event))"
        }
    }

    private static func more(_ attempts: Int, until last: Timestamp) -> StyledText {
        StyledText(
            "        and \(Figures.count(attempts, "more attempt")) with the same result, until \(LocalTime.text(last))",
            .faint)
    }

    private static func lines(_ events: [EventView]) -> [StyledText] {
        var lines: [StyledText] = []
        var hidden = 0
        for (index, event) in events.enumerated() {
            if event.type == .taskRedirected, index >= shownRedirects,
                events[(index - shownRedirects)..<index].allSatisfy({ $0.type == .taskRedirected })
            {
                hidden += 1
                continue
            }
            if hidden > 0 { lines.append(more(hidden)) }
            hidden = 0
            lines.append(EventLine.render(event))
        }
        return hidden > 0 ? lines + [more(hidden)] : lines
    }

    private static func more(_ redirects: Int) -> StyledText {
        StyledText("        and \(Figures.count(redirects, "more redirect"))", .faint)
    }

    private static func isDisk(_ code: ErrorCode?) -> Bool {
        code == .diskFull || code == .diskQuota || code == .diskIO
    }

    /// nil if there is nothing to do.
    /// - Parameters:
    ///   - session: the task's, if it waits.
    ///   - mayConfigure: whether the user may change the daemon's settings.
    static func advice(
        _ task: TaskView, events: [EventView] = [], in session: SessionView? = nil, mayConfigure: Bool = true
    ) -> Advice? {
        switch task.state {
        case .running, .completed: nil
        case .queued:
            task.queueReason.map { Advice.on($0, task: task.id, session: task.session, mayConfigure: mayConfigure) }
        case .paused: Advice("To resume it:", "dlctl resume \(task.id)")
        case .cancelled: Advice.on(.cancelled, task: task.id)
        case .failed where isChanged(events): Advice("It was changed since. To try again:", "dlctl retry \(task.id)")
        case .failed where task.error?.details[TransferError.bombMember] == true: Advice.onBomb(task)
        case .failed where task.error?.code == .deadlineExceeded && task.spec.deadlineAt == nil:
            Advice("To give it the same time again:", "dlctl retry \(task.id)")
        case .failed:
            task.error.map { Advice.on($0, task: task.id, mayConfigure: mayConfigure) }
                ?? Advice("Try again:", "dlctl retry \(task.id)")
        case .waiting where session?.paused == true:
            Advice.on(.sessionPaused, task: task.id, session: task.session)
        case .waiting:
            switch task.reason {
            case .retry? where isDisk(task.error?.code):
                Advice(
                    "Check the destination, or choose another. To try now:", "dlctl update \(task.id) -d DIR",
                    "dlctl retry \(task.id)")
            case .retry? where isNameInURL(task), .network? where isNameInURL(task):
                Advice(
                    "It is tried again by itself. If the host's name is wrong, correct it. To try now:",
                    "dlctl update \(task.id) --url URL", "dlctl retry \(task.id)")
            case .network? where task.error?.details["interface"] != nil:
                Advice(
                    "It goes on by itself when the device is up. To choose another:",
                    "dlctl update \(task.id) --interface DEVICE")
            case .retry? where task.error?.details["hsts"] != nil: task.error.map { Advice.on($0, task: task.id) }
            case .schedule?: Advice.onSchedule(task, session)
            case .retry?, .network?, .metered?, .power?, .portal?, .decision?, .authentication?:
                task.reason.map { Advice.on($0, task: task.id) }
            case .disk?, nil:
                task.error.map { Advice.on($0, task: task.id, mayConfigure: mayConfigure) }
                    ?? task.reason.map { Advice.on($0, task: task.id) }
            }
        }
    }

    /// Whether a name does not resolve, and it is not that of the task's proxy.
    private static func isNameInURL(_ task: TaskView) -> Bool {
        task.error?.code == .networkDNS && task.spec.proxy == nil
    }

    /// Events that show whether a failed task was changed afterwards.
    static let changes: [EventType] = [.taskFailed, .taskUpdated]

    /// Whether a failed task's request or destination was changed, so that only the retry is left to do.
    private static func isChanged(_ events: [EventView]) -> Bool {
        guard let last = events.last(where: { changes.contains($0.type) }), last.type == .taskUpdated else {
            return false
        }
        let fields = last.payload["fields"]?.arrayValue?.compactMap(\.stringValue) ?? []
        return !Set(fields).isSubset(of: ["priority", "rateLimit", "description", "position"])
    }
}
