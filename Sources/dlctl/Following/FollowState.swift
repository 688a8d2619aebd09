import TransferModel
import TransferRPC

/// Everything that a live display shows: the tasks in the given order, the position in the event log, and the link.
///
/// It is a value that takes snapshots and events, and returns the changes, from which a log can be printed.
struct FollowState: Sendable {
    enum Link: Hashable, Sendable {
        case connected
        /// The daemon does not answer. The next attempt is at the given time.
        case waiting(nextAttemptAt: Timestamp)
    }

    /// Tasks of the daemon that are not followed individually, by state (`watch` without ids).
    struct Backlog: Hashable, Sendable {
        var queued = 0
        var waiting = 0
        var paused = 0
        var isEmpty: Bool { queued + waiting + paused == 0 }
    }

    enum Change: Hashable, Sendable {
        case state(FollowedTask)
        case resumed(FollowedTask, offset: ByteCount)
        case restarted(FollowedTask, code: String)
        /// Only these pieces of the file are fetched again.
        case repaired(FollowedTask, pieces: [Int64])
        /// The task asks its owner to decide. Reported once for each question.
        case asked(FollowedTask)
        case linkLost
        case linkRestored
    }

    private(set) var order: [TaskID] = []
    private(set) var tasks: [TaskID: FollowedTask] = [:]
    private(set) var lastSequence: SequenceNumber?
    private(set) var link = Link.connected
    var backlog = Backlog()
    /// Tells whether tasks that appear in events join the display.
    var followsNewTasks: Bool

    init(followsNewTasks: Bool = false) { self.followsNewTasks = followsNewTasks }

    var all: [FollowedTask] { order.compactMap { tasks[$0] } }
    var isOver: Bool { tasks.values.allSatisfy(\.isOver) }
    var hasFailure: Bool { tasks.values.contains(where: \.hasFailed) }

    mutating func began(at head: SequenceNumber) {
        lastSequence = max(lastSequence ?? head, head)
    }

    /// Forgets the position in the log, because the daemon has another store than before.
    mutating func storeChanged(head: SequenceNumber) { lastSequence = head }

    mutating func linkLost(nextAttemptAt: Timestamp) -> [Change] {
        let before = link
        link = .waiting(nextAttemptAt: nextAttemptAt)
        for id in order { tasks[id]?.stopped() }
        return before == .connected ? [.linkLost] : []
    }

    mutating func linkRestored() -> [Change] {
        let before = link
        link = .connected
        return before == .connected ? [] : [.linkRestored]
    }

    /// Takes a snapshot of a task. A different state is a change.
    mutating func take(_ snapshot: FollowedTask) -> [Change] {
        let before = tasks[snapshot.id]
        if before == nil { order.append(snapshot.id) }
        tasks[snapshot.id] = snapshot
        let asks: [Change] = snapshot.asks && before?.asks != true ? [.asked(snapshot)] : []
        return (before?.state == snapshot.state && before?.reason == snapshot.reason ? [] : [.state(snapshot)]) + asks
    }

    /// Notes that the daemon no longer has the task.
    mutating func vanished(_ id: TaskID) -> [Change] {
        guard var task = tasks[id], !task.isOver else { return [] }
        task.isRemoved = true
        tasks[id] = task
        return [.state(task)]
    }

    /// Drops tasks that are over from a display that runs forever.
    mutating func drop(_ ids: Set<TaskID>) {
        order.removeAll { ids.contains($0) }
        for id in ids { tasks[id] = nil }
    }

    /// Applies one event. Sequenced events that were seen before change nothing.
    mutating func apply(_ event: EventView) -> [Change] {
        if let sequence = event.sequence {
            if let lastSequence, sequence <= lastSequence { return [] }
            lastSequence = sequence
        }
        guard let id = event.task, var task = tasks[id] ?? newcomer(event) else { return [] }
        if isOutdated(event, for: task) { return [] }
        let changes = task.step(event)
        if tasks[id] == nil { order.append(id) }
        tasks[id] = task
        return changes
    }

    /// Only active tasks join: a million queued ones are shown as a number, not as lines.
    private func newcomer(_ event: EventView) -> FollowedTask? {
        guard followsNewTasks, let id = event.task else { return nil }
        switch event.type {
        case .taskStarted, .taskProgress, .taskWaiting, .taskCompleted, .taskFailed, .taskResumed, .taskRestarted: break
        case .taskAdded, .taskRedirected, .taskResponse, .taskPaused, .taskQueued, .taskUpdated, .taskCancelled,
            .taskDecision, .taskRemoved, .sessionOpened, .sessionPaused, .sessionResumed, .sessionDrained,
            .sessionInvalidated, .settingsChanged, .eventsLagged:
            return nil
        }
        let url = event.payload["url"]?.stringValue
        let name = TaskName.of(
            file: event.payload["file"]?.stringValue, destination: nil, suggested: nil, url: url, description: nil)
        return FollowedTask(id: id, name: name == "?" ? "task \(id)" : name, state: .queued)
    }

    /// The snapshot was taken after the subscription began, so older events may still arrive for a task that is over.
    private func isOutdated(_ event: EventView, for task: FollowedTask) -> Bool {
        guard task.state.isFinal, event.type != .taskRemoved, let finishedAt = task.finishedAt else { return false }
        return event.time <= finishedAt
    }
}

extension FollowedTask {
    /// Clears figures that are true only while bytes flow.
    mutating func stopped() {
        rate = 0
        decoded = nil
        remaining = nil
    }

    fileprivate mutating func step(_ event: EventView) -> [FollowState.Change] {
        switch event.type {
        case .taskProgress:
            takeFigures(event.payload)
            if state == .queued { state = .running }
            return []
        case .taskAdded: return []
        case .taskStarted: return enter(.running, event)
        case .taskQueued: return enter(.queued, event)
        case .taskPaused: return enter(.paused, event)
        case .taskWaiting: return enter(.waiting, event)
        case .taskCompleted: return enter(.completed, event)
        case .taskFailed: return enter(.failed, event)
        case .taskCancelled: return enter(.cancelled, event)
        case .taskRemoved:
            let wasOver = isOver
            isRemoved = true
            return wasOver ? [] : [.state(self)]
        case .taskResponse: return takeResponse(event.payload)
        case .taskResumed:
            let offset = ByteCount(max(0, event.payload["offset"]?.integerValue ?? 0))
            received = offset
            resumedFrom = offset
            if let length = event.payload["expected"]?.integerValue, length >= 0 { expected = ByteCount(length) }
            return [.resumed(self, offset: offset)]
        case .taskRestarted:
            if let pieces = event.payload["pieces"]?.arrayValue {
                return [.repaired(self, pieces: pieces.compactMap(\.integerValue))]
            }
            received = 0
            resumedFrom = 0
            return [.restarted(self, code: event.payload["code"]?.stringValue ?? ErrorCode.validatorChanged.rawValue)]
        case .taskDecision:
            let kind = event.payload["kind"]?.stringValue.flatMap(DecisionKind.init(rawValue:))
            if kind == .response || kind == .cache { phase = .deciding }
            return [.asked(self)]
        case .taskRedirected, .taskUpdated, .sessionOpened, .sessionPaused, .sessionResumed, .sessionDrained,
            .sessionInvalidated, .settingsChanged, .eventsLagged:
            return []
        }
    }

    private mutating func enter(_ next: TaskState, _ event: EventView) -> [FollowState.Change] {
        let before = (state, reason, nextAttemptAt)
        stopped()
        state = next
        phase = next == .running ? .connecting : nil
        reason = next == .waiting ? event.payload["reason"]?.stringValue.flatMap(WaitReason.init(rawValue:)) : nil
        explanation = next == .queued ? event.payload["explanation"]?.stringValue : nil
        nextAttemptAt = event.payload["nextAttemptAt"]?.stringValue.flatMap { Timestamp($0) }
        if let error = event.payload["error"] { self.error = TransferError(payload: error) }
        if next == .running || next == .completed { error = nil }
        if next == .running { resumedFrom = 0 }
        if next == .running, startedAt == nil { startedAt = event.time }
        if next.isFinal { finish(event) } else { finishedAt = nil }
        return before == (state, reason, nextAttemptAt) ? [] : [.state(self)]
    }

    private mutating func finish(_ event: EventView) {
        finishedAt = event.time
        if let path = event.payload["file"]?.stringValue {
            file = path
            name = Printable.text(PathText.lastComponent(path))
        }
        if let bytes = event.payload["bytes"]?.integerValue {
            received = ByteCount(max(0, bytes))
            expected = received
        }
        duration = event.payload["duration"]?.numberValue.map { Seconds(rawValue: $0) }
    }

    private mutating func takeFigures(_ payload: [String: JSONValue]) {
        let (moved, whole) = isUpload ? ("bytesSent", "bytesToSend") : ("bytesReceived", "bytesExpected")
        if let bytes = payload[moved]?.integerValue { received = ByteCount(max(0, bytes)) }
        if let length = payload[whole]?.integerValue { expected = length >= 0 ? ByteCount(length) : nil }
        rate = ByteRate(clamping: payload["rate"]?.numberValue ?? 0)
        remaining = payload["eta"]?.numberValue.flatMap { $0 >= 0 ? Seconds(rawValue: $0) : nil }
        decoded = payload["bytesDecoded"]?.integerValue.map { ByteCount(max(0, $0)) }
        phase = payload["phase"]?.stringValue.flatMap(TaskPhase.init(rawValue:)) ?? phase
    }

    private mutating func takeResponse(_ payload: [String: JSONValue]) -> [FollowState.Change] {
        let response = payload["response"] ?? .object(payload)
        status = response["status"]?.integerValue ?? status
        if phase == .connecting { phase = .transferring }
        // The answer to an upload says nothing about the file that is sent.
        if isUpload { return [] }
        // An error page has a length and a name too, but not those of the wanted file.
        guard (response["status"]?.integerValue ?? 200) < 400 else { return [] }
        if let length = response["expectedLength"]?.integerValue, length >= 0, expected == nil {
            expected = ByteCount(length)
        }
        if isNameOpen, let suggested = response["suggestedFilename"]?.stringValue, !suggested.isEmpty {
            name = Printable.text(suggested)
        }
        return []
    }
}

extension TransferError {
    /// Reads the `error` member of an event's payload. A code that this program does not know becomes `internal` and
    /// keeps its message.
    init(payload: JSONValue) {
        let code = payload["code"]?.stringValue
        self.init(
            code.flatMap(ErrorCode.init(rawValue:)) ?? .internal,
            payload["message"]?.stringValue ?? code ?? "the daemon gave no reason",
            retryable: payload["retryable"]?.boolValue, details: payload["details"]?.objectValue ?? [:])
    }
}
