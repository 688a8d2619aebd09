import TransferModel

/// What events alone tell of tasks and sessions. Each state follows a state that may come before it, and each end comes
/// once. `session.drained` comes exactly when the last unfinished task of a session has ended. Nothing happens in a
/// session that is over, and nothing starts in a session that is paused.
struct TaskTrail {
    private struct Entry {
        var state: TaskState
        var session: SessionKey
    }

    private var tasks: [TaskID: Entry] = [:]
    /// The removed tasks, whose ids are never used again.
    private var removed: Set<TaskID> = []
    private var unfinished: [SessionKey: Int] = [:]
    /// The sessions that have ended and were not opened again.
    private var over: Set<SessionKey> = []
    private var paused: Set<SessionKey> = []

    func state(of task: TaskID) -> TaskState? { tasks[task]?.state }

    /// The number of tasks in each state, as the store counts them.
    var counts: [TaskState: Int] {
        var counts: [TaskState: Int] = [:]
        for state in TaskState.allCases { counts[state] = 0 }
        for entry in tasks.values { counts[entry.state, default: 0] += 1 }
        return counts
    }

    /// Follows the events of one commit.
    mutating func follow(_ commit: [EventRecord]) throws {
        var ended: Set<SessionKey> = []
        var drained: Set<SessionKey> = []
        for event in commit {
            if event.type == .sessionDrained {
                guard ended.contains(event.session), unfinished[event.session] == 0,
                    drained.insert(event.session).inserted
                else { throw Violation("event session.drained of \"\(event.session.identifier)\" without a cause") }
            }
            try followSession(event)
            guard let task = event.task else { continue }
            if try move(task, event), tasks[task]?.state.isFinal == true {
                if drained.contains(event.session) { throw Violation("event of task \(task) after session.drained") }
                ended.insert(event.session)
            }
        }
        for session in ended where unfinished[session] == 0 && !drained.contains(session) {
            throw Violation("event session.drained of \"\(session.identifier)\" did not come with its last task's end")
        }
    }

    private mutating func followSession(_ event: EventRecord) throws {
        let session = event.session
        switch event.type {
        case .sessionOpened: over.remove(session)
        case .sessionPaused:
            guard paused.insert(session).inserted else {
                throw Violation("event session.paused of \"\(session.identifier)\", which was paused")
            }
        case .sessionResumed:
            guard paused.remove(session) != nil else {
                throw Violation("event session.resumed of \"\(session.identifier)\", which was not paused")
            }
        case .sessionInvalidated:
            paused.remove(session)
            guard over.insert(session).inserted, unfinished[session, default: 0] == 0 else {
                throw Violation("event session.invalidated of \"\(session.identifier)\", which has tasks or was over")
            }
        default: break
        }
    }

    /// - Returns: Whether the task now has another state.
    private mutating func move(_ task: TaskID, _ event: EventRecord) throws -> Bool {
        guard let old = tasks[task] else {
            try begin(task, event)
            return true
        }
        guard old.session == event.session else { throw Violation("event of task \(task) in another session") }
        guard let (next, origins) = Self.move(event.type) else { return false }
        guard origins.contains(old.state) else {
            throw Violation("event \(event.type.rawValue) of task \(task), which was \(old.state.rawValue)")
        }
        if next == .running, paused.contains(old.session) {
            throw Violation("task \(task) began in a session that is paused")
        }
        tasks[task] = next.map { Entry(state: $0, session: old.session) }
        if next == nil { removed.insert(task) }
        if next?.isFinal == false, over.contains(old.session) {
            throw Violation("task \(task) goes on in a session that is over")
        }
        let difference = (next?.isFinal ?? true ? 0 : 1) - (old.state.isFinal ? 0 : 1)
        unfinished[old.session, default: 0] += difference
        return next != nil
    }

    private mutating func begin(_ task: TaskID, _ event: EventRecord) throws {
        guard event.type == .taskAdded, !removed.contains(task) else {
            throw Violation("event \(event.type.rawValue) of task \(task), which is not there")
        }
        guard case .string(let word)? = event.payload["state"], let state = TaskState(rawValue: word), !state.isFinal
        else { throw Violation("event of task \(task), which is added in no state") }
        if over.contains(event.session) { throw Violation("task \(task) is added to a session that is over") }
        tasks[task] = Entry(state: state, session: event.session)
        unfinished[event.session, default: 0] += 1
    }

    /// Returns the state that an event reports and the states that it may follow. Returns nil if the event reports no
    /// state, and no state if the task is removed.
    private static func move(_ type: EventType) -> (TaskState?, Set<TaskState>)? {
        let open: Set<TaskState> = [.queued, .running, .waiting, .paused]
        switch type {
        case .taskAdded: return (.queued, [])
        case .taskStarted: return (.running, [.queued])
        // A task that is added for later waits from the start and reports it. A task that is resumed before its time
        // waits again.
        case .taskWaiting: return (.waiting, [.queued, .running, .waiting, .paused])
        case .taskPaused: return (.paused, open)
        case .taskQueued: return (.queued, [.running, .waiting, .paused, .failed, .cancelled])
        case .taskCompleted: return (.completed, [.running])
        case .taskFailed: return (.failed, open)
        case .taskCancelled: return (.cancelled, open)
        case .taskRemoved: return (nil, [.completed, .failed, .cancelled])
        case .taskRedirected, .taskResponse, .taskResumed, .taskRestarted, .taskProgress, .taskUpdated, .taskDecision,
            .sessionOpened, .sessionPaused, .sessionResumed, .sessionDrained, .sessionInvalidated, .settingsChanged,
            .eventsLagged:
            return nil
        }
    }
}
