import TransferModel
import TransferRPC

/// Explains why an awaited request has no answer yet, when it is tried again and how to stop. It prints one line for
/// each failed attempt, and one if nothing has happened for a while.
struct WaitingRemarks: FollowDisplay {
    private let say: @Sendable (String) -> Void
    private let look: Look
    private var hasSaidHow = false
    private var quietSince: Timestamp?

    /// How long to wait before the first remark.
    static let patience: Seconds = 5

    /// Asks the daemon for the task, and calls back once; with nil if the daemon does not answer.
    typealias Look = (TaskID, @escaping @Sendable (TaskView?) -> Void) -> Void

    init(look: @escaping Look, say: @escaping @Sendable (String) -> Void) {
        self.look = look
        self.say = say
    }

    mutating func show(_ changes: [FollowState.Change], _ state: FollowState, now: Timestamp) {
        for change in changes {
            switch change {
            case .state(let task):
                quietSince = now
                if let text = Self.text(task, now: now) { remark(text) }
            case .asked(let task): if task.phase == .deciding { remark(Self.question) }
            case .linkLost: remark("waiting for the daemon.")
            case .linkRestored, .resumed, .restarted, .repaired: break
            }
        }
    }

    mutating func tick(_ state: FollowState, now: Timestamp) {
        guard let since = quietSince, now.since(since) >= Self.patience, let task = state.all.first else { return }
        quietSince = nil
        switch task.state {
        case .queued:
            let end = hint()
            look(task.id) { [say] view in
                if let text = Self.queued(task.id, view) { say(text + end) }
            }
        case .running: remark("waiting for the answer.")
        case .waiting, .paused, .completed, .failed, .cancelled: break
        }
    }

    private mutating func remark(_ text: String) { say(text + hint()) }

    /// Said once.
    private mutating func hint() -> String {
        defer { hasSaidHow = true }
        return hasSaidHow ? "" : " Ctrl-C cancels the request."
    }

    /// nil if it is no longer queued.
    private static func queued(_ id: TaskID, _ view: TaskView?) -> String? {
        if let view, view.state != .queued { return nil }
        let reason = view?.explanation.map { CommandWords.text($0, task: id) }
        return "queued: " + (reason ?? "its turn has not come. Why: dlctl explain \(id).")
    }

    private static let question = "it waits for an answer; 'dlctl decisions' shows what it asks."

    /// nil if the state needs no remark.
    private static func text(_ task: FollowedTask, now: Timestamp) -> String? {
        switch task.state {
        case .waiting where task.reason?.asks == true: return question
        case .waiting:
            let cause = task.error?.words(for: task.id) ?? "waiting."
            return cause + (task.nextAttemptAt.map { " " + next($0.since(now)) } ?? "")
        case .paused: return task.paused()
        case .queued, .running, .completed, .failed, .cancelled: return nil
        }
    }

    private static func next(_ delay: Seconds) -> String {
        delay < 1 ? "It is tried again now." : "Next attempt in \(Figures.duration(delay))."
    }
}
