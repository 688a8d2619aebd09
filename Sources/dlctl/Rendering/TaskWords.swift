import TransferModel

/// Describes a task's state in a few words.
enum TaskWords {
    static func tone(_ state: TaskState) -> Tone {
        switch state {
        case .running: .accent
        case .waiting: .warning
        case .completed: .good
        case .failed, .cancelled: .bad
        case .queued, .paused: .faint
        }
    }

    static func reason(_ reason: WaitReason) -> String {
        switch reason {
        case .retry: "next attempt"
        case .network: "network"
        case .schedule: "schedule"
        case .disk: "disk"
        case .authentication: "authentication"
        case .decision: "a decision"
        case .metered: "an unmetered network"
        }
    }

    /// `waiting for the network, tried again in 12s`, and the last failure.
    /// - Parameter saysHow: also says how to answer a question.
    static func waiting(_ task: FollowedTask, now: Timestamp, saysHow: Bool = true) -> String {
        var text = "waiting"
        if let reason = task.reason { text += " for " + article(reason) }
        if task.reason == .authentication || task.reason == .decision {
            return text + (saysHow ? "; to answer: dlctl decisions" : "")
        }
        if let next = task.nextAttemptAt {
            if task.reason == .disk || task.reason == .network { text += ", tried again" }
            text += next > now ? " in \(Figures.duration(next.since(now)))" : " now"
        }
        if let error = task.error { text += ": \(cause(error))" }
        return text
    }

    /// `paused at 43%; to resume it: dlctl resume 12`.
    static func paused(_ task: FollowedTask, _ held: String = "") -> String {
        "paused\(held); to resume it: dlctl resume \(task.id)"
    }

    /// `queued: The only slot of the daemon is taken.`
    static func queued(_ task: FollowedTask) -> String {
        task.explanation.map { "queued: " + Printable.text($0) } ?? "queued"
    }

    /// What a waiting task waits for, with an article.
    static func cause(_ reason: WaitReason) -> String {
        switch reason {
        case .schedule: "its time"
        case .retry, .network, .disk, .authentication, .decision, .metered: article(reason)
        }
    }

    private static func article(_ reason: WaitReason) -> String {
        switch reason {
        case .retry, .network, .schedule, .disk: "the " + self.reason(reason)
        case .authentication, .decision, .metered: self.reason(reason)
        }
    }

    static func phase(_ phase: TaskPhase?) -> String {
        switch phase {
        case .connecting, nil: "connecting"
        case .transferring: "transferring"
        case .verifying: "verifying"
        case .deciding: "asking; to answer: dlctl decisions"
        case .authenticating: "asking the credential helper"
        case .decoding: "decoding"
        case .finishing: "finishing"
        }
    }

    /// The text after the name of an ended task.
    static func ending(_ task: FollowedTask) -> String {
        if task.isRemoved { return "removed" }
        switch task.state {
        case .completed: return completed(task)
        case .failed:
            return task.error.map { "failed (\(cause($0))): \(CommandWords.text($0.message, task: task.id))" }
                ?? "failed"
        case .cancelled: return "cancelled"
        case .queued, .running, .waiting, .paused: return task.state.rawValue
        }
    }

    /// `http.status 503`
    static func cause(_ error: TransferError) -> String {
        let status = error.details["status"]?.integerValue
        return error.code.rawValue + (status.map { " \($0)" } ?? "")
    }

    /// Time and rate are those of the attempt that fetched the last bytes. Earlier waits do not count.
    private static func completed(_ task: FollowedTask) -> String {
        var text = Figures.bytes(task.received)
        if let duration = task.duration {
            let moved = max(0, task.received.rawValue - task.resumedFrom.rawValue)
            if moved < task.received.rawValue { text += ", the last \(Figures.bytes(ByteCount(moved)))" }
            text += " in \(Figures.took(duration))"
            if duration.rawValue >= 0.1, moved > 0 {
                text += " (\(Figures.rate(ByteRate(clamping: Double(moved) / duration.rawValue))))"
            }
        }
        if let status = task.status, ![200, 206, 226].contains(status) { text += ", status \(status)" }
        return text
    }

    static func sign(_ task: FollowedTask) -> StyledText {
        if task.isRemoved { return StyledText("✗", .faint) }
        return switch task.state {
        case .completed: StyledText("✓", .good)
        case .failed, .cancelled: StyledText("✗", .bad)
        case .paused: StyledText("⏸", .faint)
        case .queued, .running, .waiting: StyledText("·", .faint)
        }
    }
}
