import Threading
import TransferClient
import TransferModel
import TransferRPC

/// What a session does with the daemon. Everything but the constants belongs to `queue`, which never waits.
final class SessionCore: @unchecked Sendable {
    let queue = DispatchQueue(label: "TransferNetworking.session")
    let configuration: URLSessionConfiguration
    let delegateQueue: OperationQueue
    /// The session's name in the daemon.
    let name: String
    let isVolatile: Bool
    /// It has a connection, for the user's stores, and no session.
    private let isForStores: Bool
    private(set) weak var session: URLSession?
    /// A session with a delegate stays until it is invalidated.
    private var kept: URLSession?
    private struct WeakTask {
        weak var task: URLSessionTask?
    }
    /// Tasks that have not been resumed: whoever made them keeps them.
    private var made: [Int: WeakTask] = [:]
    private let identifiers: Guarded<Int>
    /// Numbers of background tasks, which no other session of this process, and no earlier process, has given.
    private static let lasting = Guarded(Int(Date().timeIntervalSince1970 * 1000))

    private enum Link {
        case none, opening
        case open(DaemonClient)
    }
    private var link = Link.none
    /// Counts connections: what an earlier one still says is ignored.
    var generation = 0
    /// Connections in a row that failed.
    private var failures = 0
    private var whenOpen: [@Sendable (DaemonClient?) -> Void] = []
    var submissions: [URLSessionTask] = []
    var isAdding = false
    private var active: [Int: URLSessionTask] = [:]
    var courses: [TaskID: TaskCourse] = [:]
    /// Notices of tasks whose ids are not known yet.
    var early: [TaskID: [Notice]] = [:]
    var dropped: [TaskID] = []
    var isAsking = false
    private var isInvalid = false
    private var isOver = false
    /// It has no connection any more, and makes none.
    private var isClosed = false
    /// Why nobody can have the background session: another process has it, or the daemon refuses its configuration.
    private var refusal: URLError?
    var background = BackgroundRecord()

    init(_ configuration: URLSessionConfiguration, _ delegateQueue: OperationQueue, isForStores: Bool = false) {
        self.configuration = configuration
        self.delegateQueue = delegateQueue
        self.isForStores = isForStores
        isVolatile = configuration.kind != .background
        name = configuration.identifier ?? "urlsession-\(UUID().uuidString)"
        // Tasks of an earlier process keep their numbers.
        identifiers = isVolatile ? Guarded(0) : Self.lasting
    }

    /// The longest body that the session's cache stores: the daemon keeps answers of at most a twentieth of its size.
    var mostStored: Int64 {
        configuration.urlCache.map { Int64(max($0.memoryCapacity, $0.diskCapacity)) / 20 } ?? 0
    }

    func nextIdentifier() -> Int {
        identifiers.withLock { last in
            last += 1
            return last
        }
    }

    // MARK: The session's life

    func attach(to session: URLSession) {
        self.session = session
        if session.delegate != nil { queue.async { self.kept = session } }
        if !isVolatile { queue.async { self.claim() } }
        configuration.httpCookieStorage?.attach(self)
        configuration.urlCredentialStorage?.attach(self)
        if let cache = configuration.urlCache, !cache.isShared { cache.link.attach(self) }
    }

    private func detachStores() {
        configuration.httpCookieStorage?.link.detach(self)
        configuration.urlCredentialStorage?.link.detach(self)
        configuration.urlCache?.link.detach(self)
    }

    private func claim() {
        guard !BackgroundLock.take(name) else { return open() }
        refuse(URLError(.backgroundSessionInUseByAnotherProcess), holdsLock: false)
    }

    /// The background session is over before it began.
    private func refuse(_ error: URLError, holdsLock: Bool) {
        (refusal, isInvalid, isOver) = (error, true, true)
        for task in unfinishedTasks { task.course.end(error) }
        refuseWhatWaits(error)
        conclude(error, holdsLock: holdsLock)
    }

    func sessionIsGone() {
        detachStores()
        queue.async { [self] in
            if !isVolatile, !isOver { BackgroundLock.release(name) }
            close()
        }
    }

    /// A connection that is being made is closed when it is there.
    private func close() {
        generation += 1
        if case .open(let client) = link { Task { await client.close() } }
        link = .none
        let waiting = whenOpen
        whenOpen = []
        for body in waiting { body(nil) }
    }

    func register(_ task: URLSessionTask) {
        queue.async { [self] in
            guard !isInvalid else {
                task.course.end(refusal ?? URLError(.cancelled))
                return
            }
            made[task.taskIdentifier] = WeakTask(task: task)
        }
        if let session, let delegate = task.course.delegate {
            delegateQueue.addOperation { delegate.urlSession(session, didCreateTask: task) }
        }
    }

    /// A task has been resumed: the session stays until it has ended.
    func begins(_ task: URLSessionTask) {
        active[task.taskIdentifier] = task
        made[task.taskIdentifier] = nil
    }

    func task(numbered number: Int?) -> URLSessionTask? { number.flatMap { active[$0] } }

    func ended(_ task: URLSessionTask) {
        active[task.taskIdentifier] = nil
        made[task.taskIdentifier] = nil
        task[\.session] = nil
        finishInvalidationIfDone()
    }

    func invalidate(cancelling: Bool) {
        queue.async { [self] in
            isInvalid = true
            for task in made.values { task.task?.cancel() }
            for task in active.values where cancelling { task.cancel() }
            finishInvalidationIfDone()
        }
    }

    /// Ends the session in the daemon once its tasks have ended here and everything is acknowledged.
    func finishInvalidationIfDone() {
        guard isInvalid, !isOver, active.isEmpty, background.acknowledging == 0, isVolatile || background.hasCaughtUp
        else { return }
        isOver = true
        guard isVolatile else {
            return callWhenOpen(Methods.invalidateSession, .init(id: name)) { [self] _ in conclude() }
        }
        conclude()
    }

    private func conclude(_ error: URLError? = nil, holdsLock: Bool = true) {
        isClosed = true
        close()
        detachStores()
        if !isVolatile, holdsLock { BackgroundLock.release(name) }
        let session = session
        kept = nil
        // Tasks that are made in spite of it are told.
        guard let session, let delegate = refusal != nil ? session.delegate : session.releaseDelegate() else { return }
        delegateQueue.addOperation { delegate.urlSession(session, didBecomeInvalidWithError: error) }
    }

    var unfinishedTasks: [URLSessionTask] {
        (active.values + made.values.compactMap(\.task)).filter { $0.state != .completed }.sorted {
            $0.taskIdentifier < $1.taskIdentifier
        }
    }

    /// Runs on `queue`, once the tasks of an earlier process are known.
    func whenAttached(_ body: @escaping @Sendable () -> Void) {
        queue.async { [self] in isVolatile ? body() : whenConnected { _ in body() } }
    }

    // MARK: The connection

    func whenConnected(_ body: @escaping @Sendable (DaemonClient?) -> Void) {
        if case .open(let client) = link { return body(client) }
        if isClosed { return body(nil) }
        whenOpen.append(body)
        open()
    }

    private func open() {
        guard case .none = link else { return }
        link = .opening
        generation += 1
        let generation = generation
        isAsking = session?.delegate != nil
        let opening = isForStores ? nil : SessionOpening(self, asks: isAsking)
        let notified: @Sendable (String, [UInt8]) -> Void = { [weak self] method, text in
            guard let self else { return }
            queue.async { self.notified(method, text, generation) }
        }
        let closed: @Sendable () -> Void = { [weak self] in
            guard let self else { return }
            queue.async { self.lost(generation) }
        }
        let socket = configuration.daemonSocket
        Task { [self] in
            let result: Result<(DaemonClient, SessionOpening.Found?), any Error>
            do {
                let client = try await Daemon.connect(to: socket, notified: notified, closed: closed)
                result = .success((client, try await opening?.run(client)))
            } catch {
                result = .failure(error)
            }
            queue.async { self.opened(result, generation) }
        }
    }

    private func opened(_ result: Result<(DaemonClient, SessionOpening.Found?), any Error>, _ generation: Int) {
        guard generation == self.generation else {
            if case .success(let (client, _)) = result { Task { await client.close() } }
            return
        }
        switch result {
        case .success(let (client, found)):
            link = .open(client)
            failures = 0
            if let found { reattach(found) }
            let waiting = whenOpen
            whenOpen = []
            for body in waiting { body(client) }
            flush()
        case .failure(let error):
            link = .none
            if isVolatile { return refuseWhatWaits(error) }
            if outlives(error) { tryAgain() } else { refuse(Mapping.error(error, nil), holdsLock: true) }
        }
    }

    private func refuseWhatWaits(_ error: any Error) {
        let waiting = whenOpen
        whenOpen = []
        for task in submissions { task.course.end(Mapping.error(error, task.originalRequest?.url)) }
        submissions = []
        for body in waiting { body(nil) }
    }

    /// The daemon is gone. Volatile tasks have ended with the connection; durable ones go on when it is back.
    private func lost(_ generation: Int) {
        guard generation == self.generation else { return }
        // It has closed the connection before it answered.
        let wasOpening = if case .opening = link { true } else { false }
        self.generation += 1
        if wasOpening { return opened(.failure(URLError(.networkConnectionLost)), self.generation) }
        link = .none
        isAdding = false
        courses = [:]
        early = [:]
        // What was not acknowledged comes again.
        background.newest = background.acknowledged
        dropped = []
        guard isVolatile else { return tryAgain() }
        for task in active.values where task.course.remote != nil { task.course.end(URLError(.networkConnectionLost)) }
        if !submissions.isEmpty { flush() }
    }

    private func tryAgain() {
        guard !isOver || !whenOpen.isEmpty else { return }
        failures += 1
        let delay = min(5000, 125 << min(failures, 10))
        queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { [self] in open() }
    }

    /// - Parameter then: called on `queue`.
    func call<M: RPCMethod>(
        _ method: M, _ parameters: M.Parameters, then: @escaping @Sendable (Result<M.Result, any Error>) -> Void
    ) {
        guard case .open(let client) = link else { return then(.failure(URLError(.networkConnectionLost))) }
        send(client, method, parameters, then)
    }

    /// The same, on any thread, once there is a connection.
    func callWhenOpen<M: RPCMethod>(
        _ method: M, _ parameters: M.Parameters, then: @escaping @Sendable (Result<M.Result, any Error>) -> Void
    ) {
        queue.async { [self] in
            whenConnected { [self] client in
                guard let client else { return then(.failure(URLError(.networkConnectionLost))) }
                send(client, method, parameters, then)
            }
        }
    }

    private func send<M: RPCMethod>(
        _ client: DaemonClient, _ method: M, _ parameters: M.Parameters,
        _ then: @escaping @Sendable (Result<M.Result, any Error>) -> Void
    ) {
        Task { [queue] in
            let result: Result<M.Result, any Error>
            do { result = .success(try await client.call(method, parameters)) } catch { result = .failure(error) }
            queue.async { then(result) }
        }
    }

    // MARK: What the daemon says

    /// For fuzzing: takes notifications as if a daemon had the task, and returns when the delegate has been told.
    func rehearse(_ task: URLSessionTask, _ notifications: [(method: String, text: [UInt8])]) {
        queue.sync {
            begins(task)
            task.course.attach(.firstVolatile)
            courses[.firstVolatile] = task.course
            for one in notifications { notified(one.method, one.text, generation) }
        }
        var last: Operation?
        repeat {
            last = queue.sync { task.course.lastMessage }
            delegateQueue.waitUntilAllOperationsAreFinished()
        } while queue.sync { task.course.lastMessage } !== last
    }

    private func notified(_ method: String, _ text: [UInt8], _ generation: Int) {
        guard generation == self.generation else { return }
        if method == RPCCatalog.dataNotification {
            guard let piece = try? JSONCoding.decode(TaskData.self, from: text, lenient: true),
                let course = courses[piece.task]
            else {
                return
            }
            return course.received(.data(Data(base64Encoded: piece.base64) ?? Data()))
        }
        if method == RPCCatalog.eventNotification, let notice = try? Notice(text) { noticed(notice) }
    }

    private func noticed(_ notice: Notice) {
        guard let id = notice.task else { return }
        let course = isVolatile ? courses[id] : course(of: notice, id)
        if course == nil, isAdding { early[id, default: []].append(notice) }
        if !isVolatile { caughtUp() }
        course?.received(.notice(notice))
    }
}

// MARK: - Adding

// How tasks get into the daemon, and out of it.
extension SessionCore {
    func submit(_ task: URLSessionTask) {
        submissions.append(task)
        if submissions.count == 1 { queue.async { self.flush() } }
    }

    func flush() {
        guard !isAdding, !submissions.isEmpty else { return }
        isAdding = true
        let stores = [configuration.httpCookieStorage?.link, configuration.urlCredentialStorage?.link, StoreLink.user]
        settle(stores.compactMap { $0 }[...])
    }

    /// What the program has stored is to be in force for its next tasks.
    private func settle(_ stores: ArraySlice<StoreLink>) {
        guard let first = stores.first else {
            // Without a daemon, the tasks have ended.
            return whenConnected { [self] client in client == nil ? isAdding = false : addAll() }
        }
        first.whenSettled { [self] in queue.async { self.settle(stores.dropFirst()) } }
    }

    /// Most tasks of one call.
    private static let batch = 500

    private func addAll() {
        let asks = submissions.contains { $0.delegate != nil }
        guard !asks || isAsking else {
            isAsking = true
            return call(Methods.openSession, SessionOpening(self, asks: true).parameters) { [self] _ in addAll() }
        }
        var (tasks, specs): ([URLSessionTask], [TaskSpec]) = ([], [])
        var size = 0
        while tasks.count < Self.batch, size < 4 << 20, !submissions.isEmpty {
            let task = submissions.removeFirst()
            guard !task.course.isOver else { continue }
            do {
                let spec = try task.course.spec()
                size += spec.body?.base64?.utf8.count ?? 0
                tasks.append(task)
                specs.append(spec)
            } catch {
                task.course.end(Mapping.error(error, task.originalRequest?.url))
            }
        }
        guard !tasks.isEmpty else {
            early = [:]
            acknowledge()
            isAdding = false
            return flush()
        }
        add(tasks, specs)
    }

    private func add(_ tasks: [URLSessionTask], _ specs: [TaskSpec]) {
        let generation = generation
        call(Methods.addTasks, .init(session: name, tasks: specs)) { [self] result in
            guard generation == self.generation else {
                // A durable task may have been added: its token tells.
                return isVolatile
                    ? tasks.forEach { $0.course.end(URLError(.networkConnectionLost)) } : tasks.forEach { submit($0) }
            }
            switch result {
            case .success(let added):
                for (index, entry) in added.tasks.enumerated() where index < tasks.count {
                    let course = tasks[index].course
                    if !course.isOver { courses[entry.id] = course }
                    course.added(entry.id, paused: specs[index].startPaused == true)
                    for notice in early.removeValue(forKey: entry.id) ?? [] { noticed(notice) }
                }
            case .failure(let error) where outlives(error):
                // They are added again over the next connection.
                submissions = tasks + submissions
                early = [:]
                isAdding = false
                return
            case .failure(let error): refused(tasks, specs, error)
            }
            early = [:]
            acknowledge()
            isAdding = false
            flush()
        }
    }

    /// Whether the daemon has not answered, and a background session waits until it is back.
    func outlives(_ error: any Error) -> Bool {
        !isVolatile && (error as? TransferError).map { [.shuttingDown, .stateNewer].contains($0.code) } ?? true
    }

    /// One mistake refuses all tasks of a call: the others are added again.
    private func refused(_ tasks: [URLSessionTask], _ specs: [TaskSpec], _ error: any Error) {
        let field = (error as? TransferError)?.details["field"]?.stringValue ?? ""
        let culprit = field.hasPrefix("tasks[") ? Int(field.dropFirst(6).prefix { $0 != "]" }) : nil
        guard tasks.count > 1, let culprit, tasks.indices.contains(culprit) else {
            for task in tasks { task.course.end(Mapping.error(error, task.originalRequest?.url)) }
            return
        }
        tasks[culprit].course.end(Mapping.error(error, tasks[culprit].originalRequest?.url))
        submissions = tasks.enumerated().filter { $0.offset != culprit }.map(\.element) + submissions
    }

    /// Notices of the task go to another course from now on.
    func redirect(_ id: TaskID, to course: TaskCourse) { courses[id] = course }

    /// The daemon may forget the task.
    func drop(_ id: TaskID) {
        courses[id] = nil
        guard isVolatile else { return }
        dropped.append(id)
        if dropped.count == 1 {
            queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [self] in
                let ids = dropped
                dropped = []
                guard !ids.isEmpty else { return }
                call(Methods.removeTasks, .init(ControlSelection(ids: ids))) { _ in }
            }
        }
    }
}
