import Glibc
import Threading
import TransferModel
import TransferRPC

/// What a background session has yet to tell its delegate, and to acknowledge.
struct BackgroundRecord {
    /// Tasks that had ended before this process knew of them.
    var ended: [TaskID: TaskView] = [:]
    /// Tasks whose end has been told in this process.
    var told: Set<TaskID> = []
    /// Events whose delegate methods have not returned.
    var outstanding: Set<Int64> = []
    /// Events of files that no delegate has taken: they are told again to the next process.
    var untaken: Set<Int64> = []
    /// The newest event that has come.
    var newest: Int64 = 0
    var acknowledged: Int64 = 0
    /// Acknowledgements and removals that are on their way.
    var acknowledging = 0
    /// Tasks that have been told, with the events that ended them. The daemon forgets them once those are acknowledged.
    var forgettable: [TaskID: Int64] = [:]
    /// The newest event when this process opened the session; nil once all events up to it have been delivered.
    var head: Int64?
    var hasCaughtUp = false

    /// Everything up to it has been delivered.
    var delivered: Int64 { (outstanding.union(untaken).min() ?? newest + 1) - 1 }
}

extension SessionCore {
    /// Makes the tasks of earlier processes anew, and then has the events told that nobody has acknowledged.
    func reattach(_ found: SessionOpening.Found) {
        guard !isVolatile, let session else { return }
        let present = Set(found.tasks.map(\.id))
        for task in unfinishedTasks {
            // Somebody has removed it.
            if let id = task.course.remote, !present.contains(id) { task.course.end(URLError(.cancelled)) }
        }
        for view in found.tasks where !background.told.contains(view.id) {
            if let known = task(numbered: view.identifier) {
                known.course.attach(view.id)
                courses[view.id] = known.course
            } else if view.state.isFinal {
                background.ended[view.id] = view
            } else {
                _ = revive(view, session)
            }
        }
        var subscription = Subscribe(subscriber: SessionOpening.subscriber(of: name))
        subscription.sessions = [name]
        subscription.types = Notice.types
        call(Methods.subscribe, subscription) { [self] result in
            guard case .success(let subscribed) = result else { return }
            background.newest = max(background.newest, subscribed.after?.rawValue ?? 0)
            background.acknowledged = subscribed.after?.rawValue ?? 0
            for decision in found.decisions {
                courses[decision.task]?.received(.notice(Notice(decision)))
            }
            guard !background.hasCaughtUp else { return }
            findHead(after: SequenceNumber(background.acknowledged))
        }
    }

    /// Events are numbered over all sessions: the newest of this one may be older than the head of the log.
    private func findHead(after sequence: SequenceNumber) {
        var page = ListEvents(after: .after(sequence))
        page.sessions = [name]
        page.types = EventType.allCases.filter(\.isEnd)
        page.limit = 1000
        call(Methods.listEvents, page) { [self] result in
            guard case .success(let found) = result else { return }
            let last = found.events.last?.sequence ?? sequence
            if let next = found.nextAfter { return findHead(after: next) }
            background.head = last.rawValue
            caughtUp()
        }
    }

    /// A task of an earlier process.
    private func revive(_ view: TaskView, _ session: URLSession) -> URLSessionTask {
        let request = view.request
        let delegate = TaskCompletion.delegate
        let number = view.identifier ?? nextIdentifier()
        let task: URLSessionTask =
            switch view.spec.kind {
            case .download: URLSessionDownloadTask(session, number, request, .nothing, delegate, nil)
            case .upload: URLSessionUploadTask(session, number, request, .nothing, delegate, nil)
            case .data where view.spec.body?.file != nil:
                URLSessionUploadTask(session, number, request, .nothing, delegate, nil)
            case .data: URLSessionDataTask(session, number, request, .nothing, delegate, nil)
            }
        task.values.withLock { values in
            values.suspensions = view.state == .paused ? 1 : 0
            values.description = view.spec.description
            values.priority = Float(view.spec.priority?.value ?? 0.5)
            values.response = view.response.map(Mapping.response)
            (values.received, values.sent) = (view.bytesReceived, view.bytesSent)
            (values.expectedToReceive, values.expectedToSend) = (view.bytesExpected, view.bytesToSend)
        }
        task.course.destination = view.file ?? view.spec.destination?.path
        task.course.attach(view.id)
        courses[view.id] = task.course
        begins(task)
        return task
    }

    /// An event of a background session. Returns the course that it is for.
    func course(of notice: Notice, _ id: TaskID) -> TaskCourse? {
        guard let sequence = notice.sequence?.rawValue else { return courses[id] }
        background.newest = max(background.newest, sequence)
        if notice.type.isEnd, background.told.contains(id) {
            background.forgettable[id] = sequence
            acknowledge()
            return nil
        }
        var course = courses[id]
        if course == nil, notice.type.isEnd, let view = background.ended.removeValue(forKey: id), let session {
            course = revive(view, session).course
        }
        if let course, notice.type.isEnd, !course.isOver {
            background.outstanding.insert(sequence)
            course.finalEvent = sequence
        }
        // Questions that were asked before the session was opened have been listed.
        if notice.type == .taskDecision, sequence <= background.head ?? .max, background.head != nil { course = nil }
        return course
    }

    /// The delegate has been told about the end of a task.
    func delivered(_ id: TaskID?, _ sequence: Int64?, isTaken: Bool) {
        guard !isVolatile else { return }
        if let sequence {
            background.outstanding.remove(sequence)
            if !isTaken { background.untaken.insert(sequence) } else if let id { background.forgettable[id] = sequence }
        }
        if let id { background.told.insert(id) }
        acknowledge()
        caughtUp()
    }

    func acknowledge() {
        // Events that came before the answer to their task's addition have not been told.
        guard !isVolatile, early.isEmpty else { return }
        let delivered = background.delivered
        guard delivered > background.acknowledged else { return }
        background.acknowledged = delivered
        let parameters = AcknowledgeEvents(
            subscriber: SessionOpening.subscriber(of: name), sequence: SequenceNumber(delivered))
        background.acknowledging += 1
        call(Methods.acknowledgeEvents, parameters) { [self] result in
            if case .success = result { forget(upTo: delivered) }
            background.acknowledging -= 1
            finishInvalidationIfDone()
        }
    }

    private func forget(upTo sequence: Int64) {
        let ids = background.forgettable.filter { $0.value <= sequence }.map(\.key)
        guard !ids.isEmpty else { return }
        for id in ids { background.forgettable[id] = nil }
        background.acknowledging += 1
        call(Methods.removeTasks, .init(ControlSelection(ids: ids))) { [self] _ in
            background.acknowledging -= 1
            finishInvalidationIfDone()
        }
    }

    /// Tells the delegate once everything that was kept for it has been delivered.
    func caughtUp() {
        guard let head = background.head, background.newest >= head, background.outstanding.allSatisfy({ $0 > head })
        else { return }
        background.head = nil
        background.hasCaughtUp = true
        // An earlier process acknowledged their ends, and died before it had them forgotten.
        for (id, view) in background.ended where view.file.map({ access($0, F_OK) != 0 }) ?? true {
            background.forgettable[id] = 0
        }
        acknowledge()
        forget(upTo: background.acknowledged)
        defer { finishInvalidationIfDone() }
        guard let session, let delegate = session.delegate else { return }
        delegateQueue.addOperation { delegate.urlSessionDidFinishEvents(forBackgroundURLSession: session) }
    }
}

/// One process at a time has a background session: it holds a lock in the session's folder, which ends with it.
enum BackgroundLock {
    /// What this process holds, with the number of its sessions.
    private static let held = Guarded<[String: (descriptor: Int32, count: Int)]>([:])

    /// False if another process has it.
    static func take(_ session: String) -> Bool {
        held.withLock { held in
            if let own = held[session] {
                held[session] = (own.descriptor, own.count + 1)
                return true
            }
            // Without a folder there are no downloads that two could take.
            guard let folder = DownloadFolder.lasting(session) else { return true }
            let descriptor = open(folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return true }
            // A file system without locks cannot tell.
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                close(descriptor)
                return false
            }
            held[session] = (descriptor, 1)
            return true
        }
    }

    static func release(_ session: String) {
        held.withLock { held in
            guard let own = held[session] else { return }
            held[session] = own.count > 1 ? (own.descriptor, own.count - 1) : nil
            if own.count == 1 { close(own.descriptor) }
        }
    }
}

extension EventType {
    var isEnd: Bool { self == .taskCompleted || self == .taskFailed || self == .taskCancelled }
}

extension TaskView {
    /// The task's number in its session.
    fileprivate var identifier: Int? {
        spec.tags?.first { $0.hasPrefix(TaskCourse.tag) }.flatMap { Int($0.dropFirst(TaskCourse.tag.count)) }
    }

    fileprivate var request: URLRequest? {
        guard let url = spec.url.flatMap({ URL(string: $0) }) else { return nil }
        var request = URLRequest(url: url)
        request.httpMethod = spec.method
        for field in spec.headers ?? [] where field.value != HeaderField.mask {
            request.addValue(field.value, forHTTPHeaderField: field.name)
        }
        return request
    }
}
