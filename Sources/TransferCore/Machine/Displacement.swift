import TransferModel

/// Why a running task is queued again although nothing failed.
package enum Displacement: Sendable, Hashable {
    /// A limit was lowered, and this is the least important of the tasks that exceed it.
    case limitLowered(SlotLimit)
    /// A more important task of the same user needs the slot.
    case priority(of: TaskID, SlotLimit)
    /// A user who has fewer slots needs one.
    case turn(SlotLimit)
    /// A client paused its session.
    case sessionPaused
    /// The daemon stops.
    case stopping
    /// The machine falls asleep.
    case sleep
    /// What its network or power forbade is allowed again.
    case allowedAgain
    /// The daemon ended without stopping its tasks.
    case crash
    /// A client's request stopped it, but then did not change its state.
    case interruption
    /// A server or proxy wants credentials that were found without asking a client.
    case challenge
    /// A helper leads to another URL, and nobody has to be asked.
    case redirect

    /// The limit of slots or the pause that caused it.
    var reason: QueueReason? {
        switch self {
        case .limitLowered(let limit), .priority(_, let limit), .turn(let limit): limit.reason
        case .sessionPaused: .sessionPaused
        case .stopping, .sleep, .allowedAgain, .crash, .interruption, .challenge, .redirect: nil
        }
    }

    var explanation: String {
        switch self {
        case .limitLowered: "A limit was lowered; it continues when a slot is free."
        case .priority(let task, _): "Task \(task) has a higher priority and got its slot; it continues after that."
        case .turn: "It is another user's turn; it continues when a slot is free."
        case .sessionPaused: "Its session was paused; it continues when the session is resumed."
        case .stopping: "The daemon stopped; it continues when the daemon runs again."
        case .sleep: "The machine falls asleep; it continues when the machine is awake."
        case .allowedAgain: "What the machine's network or power forbade is allowed again; it continues now."
        case .crash: "The daemon ended while the task ran; it continues now."
        case .challenge: "The server or proxy asked for credentials; those that were found for it are tried now."
        case .redirect: "The helper leads to another URL; the request is made there."
        case .interruption: "A client's request interrupted it; it continues by itself."
        }
    }
}

extension SlotLimit {
    /// The reason that a task gives while it waits for this limit.
    package var reason: QueueReason {
        switch self {
        case .global: .slots
        case .owner: .user
        case .session: .session
        case .host: .hostSlots
        }
    }

    /// The order in which a person wants to know them.
    static let asked: [SlotLimit] = [.session, .owner, .host, .global]
}
