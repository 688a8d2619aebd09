import TransferModel
import TransferRPC

/// Answers "why is it not running?": how the task stands, what to do, and what happened so far.
enum Explanation {
    static func render(_ task: TaskView, events: [EventView], now: Timestamp) -> [StyledText] {
        var lines = [StyledText("\(task.id)  \(TaskName.of(task))", .strong), ""]
        lines.append(StyledText("Now: ", .faint) + StyledText(standing(task, now: now)))
        if let error = task.error, !(task.state == .completed) {
            lines.append(
                StyledText("Why: ", .faint) + StyledText("\(error.code.rawValue): ", .bad)
                    + StyledText(CommandWords.text(error.message, task: task.id)))
        }
        if let advice = advice(task) { lines.append(StyledText("Do:  ", .faint) + StyledText(advice)) }
        if !events.isEmpty {
            lines += ["", StyledText("So far:", .faint)]
            lines += history(events)
        }
        return lines
    }

    /// Redirections that are shown of those that follow each other.
    private static let shownRedirects = 3

    private static func history(_ events: [EventView]) -> [StyledText] {
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
        StyledText("        and \(Figures.count(redirects, "more redirection"))", .faint)
    }

    private static func standing(_ task: TaskView, now: Timestamp) -> String {
        switch task.state {
        case .running: return running(task)
        case .queued: return queued(task, now: now)
        case .paused: return "paused by a client."
        case .waiting: return waiting(task, now: now)
        case .completed:
            let place = task.file.map { ": \(Printable.text($0))" } ?? ""
            let coding = RemainingCoding.ofFile(task).map { " (\($0))" } ?? ""
            return
                "completed, \(Figures.bytes(ByteCount(task.spec.kind == .upload ? task.bytesSent : task.bytesReceived)))\(place)\(coding)."
        case .failed: return "failed for good after \(Figures.count(task.attempts, "attempt"))\(kept(task))."
        case .cancelled: return "cancelled by a client."
        }
    }

    /// What `retry` has to begin with.
    private static func kept(_ task: TaskView) -> String {
        guard task.spec.kind == .download else { return "" }
        let held = ByteCount(task.bytesReceived)
        return held > .zero ? "; \(Figures.bytes(held)) of it is kept" : "; nothing of it is kept"
    }

    private static func running(_ task: TaskView) -> String {
        var text = "it is running (\(TaskWords.phase(task.phase)))"
        if task.rate.rawValue > 0 { text += " at \(Figures.rate(task.rate))" }
        if let eta = task.eta { text += ", \(Figures.duration(eta)) left" }
        return text + "." + (task.explanation.map { " " + Printable.text($0) } ?? "")
    }

    private static func queued(_ task: TaskView, now: Timestamp) -> String {
        let reason = task.explanation.map(Printable.text) ?? "It starts as soon as the tasks before it have started."
        guard let next = task.nextAttemptAt else { return "queued. \(reason)" }
        return "queued. \(reason) Next try at \(LocalTime.text(next, seenFrom: now))."
    }

    private static func waiting(_ task: TaskView, now: Timestamp) -> String {
        let reason = task.reason.map { TaskWords.reason($0) } ?? "something"
        guard let next = task.nextAttemptAt else { return "waiting for: \(reason)." }
        let time = LocalTime.text(next, seenFrom: now)
        switch task.reason {
        case .disk?, .network?: return "waiting for: \(reason); tried again when it is back, at \(time) at the latest."
        case .retry?, .schedule?, .authentication?, .decision?, .metered?, nil:
            return "waiting for: \(reason); tried again at \(time)."
        }
    }

    private static func isDisk(_ code: ErrorCode?) -> Bool {
        code == .diskFull || code == .diskQuota || code == .diskIO
    }

    static func advice(_ task: TaskView) -> String? {
        switch task.state {
        case .running, .completed: nil
        case .queued: task.queueReason.flatMap { Advice.text($0) }
        case .paused: "dlctl resume \(task.id)"
        case .cancelled: Advice.text(.cancelled, task: task.id)
        case .failed: task.error.map { Advice.text($0, task: task.id) } ?? "dlctl retry \(task.id)"
        case .waiting:
            switch task.reason {
            case .retry? where isDisk(task.error?.code):
                "Check the destination, or choose another: dlctl update \(task.id) -d DIR. dlctl retry \(task.id) tries now."
            case .retry?, .network?, .schedule?, .metered?: task.reason.map { Advice.text($0, task: task.id) }
            case .disk?, .decision?, .authentication?, nil:
                task.error.map { Advice.text($0, task: task.id) }
                    ?? task.reason.map { Advice.text($0, task: task.id) }
            }
        }
    }
}
