import DaemonKit
import TestSupport
import TransferModel
import TransferRPC

/// Which events a simulated subscriber asks for. The meaning is implemented here again, in another way than in the
/// daemon.
struct EventSelector {
    private(set) var owner: OwnerScope = .user(Client.user)
    private var sessions: [String]?
    private var tasks: [TaskID]?
    private var types: [EventType]?

    /// A user who owns nothing here.
    private static let stranger = UserID(2000)
    private static let endings: [EventType] = [.taskCompleted, .taskFailed, .taskCancelled, .sessionDrained]

    init(_ random: inout SeededGenerator) {
        switch random.below(10) {
        case 0..<3: owner = .everyone
        case 3: owner = .user(Self.stranger)
        default: break
        }
        if random.chance(250) {
            let names = Client.sessions + [SessionKey.sharedIdentifier]
            sessions = [names[random.below(names.count)]]
        }
        switch random.below(8) {
        case 0: tasks = (0..<4).map { _ in TaskID(Int64(1 + random.below(Client.mostTasks))) }
        case 1...2: types = Self.endings
        case 3: types = [.taskStarted, .taskQueued, .taskResumed]
        default: break
        }
    }

    var filter: EventFilter { EventFilter(owner: owner, sessions: sessions, tasks: tasks, types: types) }

    func selects(_ event: EventRecord) -> Bool {
        switch owner {
        case .everyone: break
        case .user(let user): if event.session.owner != user { return false }
        }
        if let sessions, !sessions.contains(event.session.identifier) { return false }
        if let types, !types.contains(event.type) { return false }
        guard let tasks else { return true }
        return event.task.map(tasks.contains) ?? false
    }
}
