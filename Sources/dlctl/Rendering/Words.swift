import TransferModel
import TransferRPC

// What states, reasons and errors mean to a reader. Every renderer takes its words from here.

extension TaskState {
    var tone: Tone {
        switch self {
        case .running: .accent
        case .waiting: .warning
        case .completed: .good
        case .failed, .cancelled: .bad
        case .queued, .paused: .faint
        }
    }
}

extension TaskPhase {
    var words: String {
        switch self {
        case .connecting: "connecting"
        case .transferring: "transferring"
        case .verifying: "verifying"
        case .deciding: "asking; to answer: dlctl decisions"
        case .authenticating: "asking the credential helper"
        case .decoding: "decoding"
        case .finishing: "finishing"
        }
    }
}

extension WaitReason {
    /// What a task waits for.
    var words: String {
        switch self {
        case .retry: "the next attempt"
        case .network: "the network"
        case .schedule: "the schedule"
        case .disk: "the disk"
        case .authentication: "authentication"
        case .decision: "a decision"
        case .metered: "another network"
        case .power: "mains power and an unmetered network"
        case .portal: "the login of the network"
        }
    }

    /// Whether the task waits for its owner's answer to a question.
    var asks: Bool { self == .authentication || self == .decision }
}

extension EventType {
    var tone: Tone {
        switch self {
        case .taskCompleted: .good
        case .taskFailed, .taskCancelled: .bad
        case .taskWaiting, .taskDecision, .taskRestarted, .eventsLagged: .warning
        case .taskStarted, .taskResumed: .accent
        case .taskAdded, .taskRedirected, .taskResponse, .taskProgress, .taskPaused, .taskQueued, .taskUpdated,
            .taskRemoved, .sessionOpened, .sessionPaused, .sessionResumed, .sessionDrained, .sessionInvalidated,
            .settingsChanged:
            .plain
        }
    }
}

extension AuthenticationMethod {
    var words: String {
        switch self {
        case .httpBasic: "Basic"
        case .httpDigest: "Digest"
        case .ntlm: "NTLM"
        case .negotiate: "Negotiate, that is Kerberos"
        case .serverTrust: "trust"
        case .clientCertificate: "certificate"
        }
    }
}

extension TransferError {
    /// `http.status 503`
    var cause: String { code.rawValue + (details["status"]?.integerValue.map { " \($0)" } ?? "") }

    /// `http.status: 404 Not Found`
    func words(for task: TaskID) -> String { "\(code.rawValue): \(CommandWords.text(message, task: task))" }
}

extension TaskView {
    var isUpload: Bool { spec.kind == .upload }
    /// The bytes sent by an upload, and received by another task.
    var moved: ByteCount { ByteCount(isUpload ? bytesSent : bytesReceived) }
    /// The bytes to move; nil if unknown.
    var whole: ByteCount? {
        let length = isUpload ? bytesToSend : bytesExpected
        return length >= 0 ? ByteCount(length) : nil
    }
}

extension FollowedTask {
    var percent: Int? { expected.flatMap { Figures.percent(received, of: $0) } }

    /// How the task stands, in a few words.
    /// - Parameter isLive: for a display that redraws itself. In a log, how to answer is said once, by `question`.
    func standing(now: Timestamp, isLive: Bool) -> String {
        if isRemoved { return "removed" }
        switch state {
        case .queued: return explanation.map { "queued: " + Printable.text($0) } ?? "queued"
        case .running: return isLive ? (phase ?? .connecting).words : state.rawValue
        case .waiting: return waiting(now: now, saysHow: isLive)
        case .paused: return paused(isLive ? percent.map { $0 > 0 ? " at \($0)%" : "" } ?? "" : "")
        case .completed: return (isLive ? "" : "completed, ") + completed
        case .failed:
            return error.map { "failed (\($0.cause)): \(CommandWords.text($0.message, task: id))" } ?? "failed"
        case .cancelled: return state.rawValue
        }
    }

    /// The text after the name of an ended task.
    var ending: String { standing(now: .now(), isLive: true) }

    /// `paused at 43%; to resume it: dlctl resume 12`.
    func paused(_ held: String = "") -> String { "paused\(held); to resume it: dlctl resume \(id)" }

    /// `waiting for the network, tried again in 12s`, and the last failure.
    private func waiting(now: Timestamp, saysHow: Bool) -> String {
        var text = "waiting" + (reason.map { " for " + $0.words } ?? "")
        if reason?.asks == true { return text + (saysHow ? "; to answer: dlctl decisions" : "") }
        if let next = nextAttemptAt {
            if reason == .disk || reason == .network { text += ", tried again" }
            text += next > now ? " in \(Figures.duration(next.since(now)))" : " now"
        }
        return text + (error.map { ": \($0.cause)" } ?? "")
    }

    /// Time and rate are those of the attempt that fetched the last bytes. Earlier waits do not count.
    private var completed: String {
        var text = Figures.bytes(received)
        if let duration {
            let moved = max(0, received.rawValue - resumedFrom.rawValue)
            if moved < received.rawValue { text += ", the last \(Figures.bytes(ByteCount(moved)))" }
            text += " in \(Figures.took(duration))"
            if duration.rawValue >= 0.1, moved > 0 {
                text += " (\(Figures.rate(ByteRate(clamping: Double(moved) / duration.rawValue))))"
            }
        }
        if let status, ![200, 206, 226].contains(status) { text += ", status \(status)" }
        return text
    }
}
