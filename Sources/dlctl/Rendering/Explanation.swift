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
                    + StyledText(Printable.text(error.message)))
        }
        if let advice = advice(task) { lines.append(StyledText("Do:  ", .faint) + StyledText(advice)) }
        if !events.isEmpty {
            lines += ["", StyledText("So far:", .faint)]
            lines += events.map { EventLine.render($0) }
        }
        return lines
    }

    private static func standing(_ task: TaskView, now: Timestamp) -> String {
        switch task.state {
        case .running: return running(task)
        case .queued: return queued(task, now: now)
        case .paused: return "paused by a client."
        case .waiting: return waiting(task, now: now)
        case .completed:
            let place = task.file.map { ": \(Printable.text($0))" } ?? ""
            return
                "completed, \(Figures.bytes(ByteCount(task.spec.kind == .upload ? task.bytesSent : task.bytesReceived)))\(place)."
        case .failed: return "failed for good after \(Figures.count(task.attempts, "attempt"))."
        case .cancelled: return "cancelled by a client."
        }
    }

    private static func running(_ task: TaskView) -> String {
        var text = "it is running (\(TaskWords.phase(task.phase)))"
        if task.rate.rawValue > 0 { text += " at \(Figures.rate(task.rate))" }
        if let eta = task.eta { text += ", \(Figures.duration(eta)) left" }
        return text + "."
    }

    private static func queued(_ task: TaskView, now: Timestamp) -> String {
        let reason = task.explanation.map(Printable.text) ?? "It starts as soon as the tasks before it have started."
        guard let next = task.nextAttemptAt else { return "queued. \(reason)" }
        return "queued. \(reason) Next try at \(LocalTime.text(next, seenFrom: now))."
    }

    private static func waiting(_ task: TaskView, now: Timestamp) -> String {
        let reason = task.reason.map { TaskWords.reason($0) } ?? "something"
        guard let next = task.nextAttemptAt else { return "waiting for: \(reason)." }
        return "waiting for: \(reason); tried again at \(LocalTime.text(next, seenFrom: now))."
    }

    static func advice(_ task: TaskView) -> String? {
        switch task.state {
        case .running, .completed: nil
        case .queued: task.queueReason.flatMap { Advice.text($0) }
        case .paused: "dlctl resume \(task.id)"
        case .cancelled: Advice.text(.cancelled, task: task.id)
        case .failed: task.error.map { Advice.text($0.code, task: task.id) } ?? "dlctl retry \(task.id)"
        case .waiting:
            switch task.reason {
            case .retry?, .network?, .schedule?, .metered?: task.reason.map { Advice.text($0, task: task.id) }
            case .disk?, .decision?, .authentication?, nil:
                task.error.map { Advice.text($0.code, task: task.id) }
                    ?? task.reason.map { Advice.text($0, task: task.id) }
            }
        }
    }
}
