import FileKit
import Glibc
import Logging
import Threading
import TransferClient
import TransferCore
import TransferModel
import TransferRPC

/// The node's connection to the local dld: looks for it as long as it is away, tells what it says, and carries out what
/// the node wants of it.
final class LocalDaemon: Sendable {
    enum News: Sendable {
        case input(Input)
        /// With the connection that effects are for from now on.
        case came([LocalTask], Connection)
    }

    static let session = "fleet"
    private static let firstPause = Duration.milliseconds(200)
    private static let longestPause = Duration.seconds(5)
    /// How long a new connection, or a file system, may take to answer.
    private static let patience = Duration.seconds(20)

    private let sockets: [String]
    private let node: Guarded<NodeSettings>
    private let logger: Logger
    private let tell: @Sendable (News) -> Void

    init(
        _ sockets: [String], _ node: Guarded<NodeSettings>, logger: Logger, tell: @escaping @Sendable (News) -> Void
    ) {
        (self.sockets, self.node, self.logger, self.tell) = (sockets, node, logger, tell)
    }

    /// Runs until its task is cancelled.
    func follow() async {
        var pause = Self.firstPause
        while !Task.isCancelled {
            if let client = await connect() {
                do {
                    try await serve(client) { pause = Self.firstPause }
                } catch {
                    logger.notice("dld is away, or refuses.", metadata: ["error": "\(error)"])
                }
                await client.close()
            }
            try? await Task.sleep(for: pause * Double.random(in: 0.8...1.2))
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private func connect() async -> DaemonClient? {
        for socket in sockets {
            if let client = try? await DaemonClient.connect(to: socket, patience: Self.patience) { return client }
        }
        return nil
    }

    private func serve(_ client: DaemonClient, _ isThere: () -> Void) async throws {
        let (effects, sink) = AsyncStream<Effect>.makeStream()
        let connection = Connection(client, node, sink) { [tell] in tell(.input($0)) }
        try await connection.openSession()
        let events = try await client.subscribe(
            Subscribe(
                subscriber: Self.session, sessions: [Self.session],
                progressInterval: Seconds(min(node.withLock { $0.progressInterval } / .seconds(1), 60)))
        ).events
        tell(.came(try await connection.tasks(), connection))
        isThere()
        logger.info("dld answers.")
        let performing = Task { await connection.perform(effects) }
        var reason: (any Error)?
        do {
            for try await event in events { tell(.input(.event(TaskEvent(event)))) }
        } catch {
            reason = error
        }
        // Nothing of a lost connection is waited for: neither its calls, nor a file system that does not answer.
        await client.close()
        sink.finish()
        performing.cancel()
        await performing.value
        tell(.input(.dldWent))
        if let reason, !Task.isCancelled { throw reason }
    }

    /// One connection, which carries out effects until it goes.
    final class Connection: Sendable {
        private let client: DaemonClient
        private let node: Guarded<NodeSettings>
        private let sink: AsyncStream<Effect>.Continuation
        private let tell: @Sendable (Input) -> Void

        fileprivate init(
            _ client: DaemonClient, _ node: Guarded<NodeSettings>, _ sink: AsyncStream<Effect>.Continuation,
            tell: @escaping @Sendable (Input) -> Void
        ) {
            (self.client, self.node, self.sink, self.tell) = (client, node, sink, tell)
        }

        /// Does nothing once the connection has gone.
        func send(_ effect: Effect) { sink.yield(effect) }

        fileprivate func perform(_ effects: AsyncStream<Effect>) async {
            await withDiscardingTaskGroup { group in
                for await effect in effects {
                    group.addTask {
                        do {
                            try await self.perform(effect)
                        } catch is ClientError {
                            // Whatever was not understood: a new connection asks again.
                            await self.client.close()
                        } catch {
                            switch effect {
                            case .list, .openSession: await self.client.close()
                            default: if let key = effect.key { self.tell(.unanswered(key)) }
                            }
                        }
                    }
                }
            }
        }

        fileprivate func openSession() async throws {
            let configuration = node.withLock { $0.policy.session }
            _ = try await client.call(
                Methods.openSession, .init(id: LocalDaemon.session, kind: .background, configuration: configuration))
        }

        fileprivate func tasks() async throws -> [LocalTask] {
            var tasks: [LocalTask] = []
            var cursor: String?
            repeat {
                let page = try await client.call(
                    Methods.listTasks,
                    .init(session: LocalDaemon.session, order: .oldest, cursor: cursor, limit: ListTasks.largestLimit))
                tasks += page.tasks.compactMap(LocalTask.init)
                cursor = page.nextCursor
            } while cursor != nil
            return tasks
        }

        private func perform(_ effect: Effect) async throws {
            switch effect {
            case .add(let job, let resuming): tell(.added(job.key, try await add(job, resuming)))
            case .stop(let key, let task):
                let result = try await client.call(Methods.cancelTasks, CancelTasks(ControlSelection(ids: [task])))
                tell(.stopped(key, hasEnded: !result.skipped.isEmpty))
            case .collect(let key, let task): tell(.collected(key, resume: try await resumeData(of: task)))
            case .inspect(let key, let task): tell(.inspected(key, try await report(of: task)))
            case .pause(let key, let task):
                _ = try await client.call(Methods.pauseTasks, ControlSelection(ids: [task]))
                tell(.controlled(key))
            case .resume(let key, let task):
                _ = try await client.call(Methods.resumeTasks, ControlSelection(ids: [task]))
                tell(.controlled(key))
            case .discard(let key, let task, let deleteFile):
                let selection = ControlSelection(ids: [task])
                _ = try await client.call(Methods.cancelTasks, CancelTasks(selection))
                _ = try await client.call(Methods.removeTasks, RemoveTasks(selection, deleteFile: deleteFile))
                tell(.discarded(key))
            case .follow(let decision, let sequence):
                do {
                    _ = try await client.call(
                        Methods.answerDecision, AnswerDecision(id: DecisionID(decision), action: .follow))
                } catch is TransferError {
                    // The question is closed.
                }
                tell(.answered(sequence: sequence))
            case .list: tell(.listed(try await tasks()))
            case .openSession: try await openSession()
            case .acknowledge(let sequence):
                _ = try await client.call(
                    Methods.acknowledgeEvents,
                    .init(subscriber: LocalDaemon.session, sequence: SequenceNumber(sequence)))
            default: break
            }
        }

        private func add(_ job: LeasedJob, _ resuming: Bool) async throws -> Input.AddAnswer {
            let node = node.withLock { $0 }
            do {
                let spec = try await Self.apart("fleet-paths", LocalDaemon.patience) {
                    try node.policy.task(
                        for: job, localAttempts: node.localAttempts, resuming: resuming, resolve: ResolvedPath.of)
                }
                let added = try await client.call(
                    Methods.addTasks, .init(session: LocalDaemon.session, tasks: [spec])
                ).tasks
                guard let first = added.first else { return .removed }
                return first.removed == true
                    ? .removed : .task(first.id, first.state, TaskMarks(attributes: spec.attributes))
            } catch let error as JobError {
                return .refused(error)
            } catch let error as TransferError {
                return .refused(JobError(error))
            }
        }

        private func resumeData(of task: TaskID) async throws -> JSONValue? {
            do {
                let view = try await client.call(Methods.getTask, .init(id: task))
                let data = try await client.call(Methods.takeResumeData, .init(id: task)).resumeData
                return [
                    "data": .string(data), "node": .string(node.withLock { $0.name }),
                    "bytes": .integer(view.bytesReceived),
                ]
            } catch is TransferError {
                return nil
            }
        }

        private func report(of task: TaskID) async throws -> EndReport? {
            let view: TaskView
            do {
                view = try await client.call(Methods.getTask, .init(id: task))
            } catch let error as TransferError where error.code == .taskNotFound {
                return nil
            }
            var report = EndReport(kind: view.spec.kind, state: view.state)
            report.marks = TaskMarks(attributes: view.spec.attributes)
            (report.file, report.sha256, report.verified) = (view.file, view.sha256, view.verified ?? false)
            report.size = view.spec.kind == .upload ? view.bytesSent : view.bytesReceived
            report.status = view.response?.status
            report.error = view.error.map(JobError.init)
            func field(_ name: String) -> String? { view.response?.headers.first { $0.isNamed(name) }?.value }
            // A date counts by the server's own clock, and by no other.
            let clock = field("Date").flatMap(HTTPDate.parse).map { Timestamp(milliseconds: $0 * 1000) }
            if let later = field("Retry-After"), clock != nil || Int64(later) != nil {
                report.retryAfter = RetryAfter.parse(later, now: clock ?? Timestamp(milliseconds: 0))
                    .map { .seconds($0.rawValue) }
            }
            guard view.state == .completed else { return report }
            switch view.spec.kind {
            case .download:
                if report.sha256 == nil, let file = view.file { report.sha256 = try await Self.digest(of: file) }
            case .data: report.body = try await body(of: task, length: view.bytesReceived)
            case .upload: break
            }
            return report
        }

        /// The whole body, unless it is longer than the table takes.
        private func body(of task: TaskID, length: Int64) async throws -> String? {
            let most: Int64 = 64 << 10
            let piece = try await client.call(Methods.readBody, .init(id: task, offset: 0, length: most))
            return piece.eof ? piece.data : nil
        }

        private static func digest(of path: String) async throws -> String? {
            try await apart("fleet-digest") {
                let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
                guard file >= 0 else { return nil }
                defer { close(file) }
                return (try? FileHasher.digests(of: file, path: path, [.sha256]))?[.sha256]
            }
        }

        /// Does what may take minutes, or hang with its file system, on a thread of its own.
        /// - Throws: what `body` throws; `disk.io` after `patience`, and `CancellationError` as soon as the task is
        ///   cancelled, whatever the thread does.
        private static func apart<Value: Sendable>(
            _ name: String, _ patience: Duration? = nil, _ body: @escaping @Sendable () throws -> Value
        ) async throws -> Value {
            let (values, sink) = AsyncThrowingStream<Value, any Error>.makeStream()
            let isStarted = NamedThread.start(name) {
                do {
                    sink.yield(try body())
                    sink.finish()
                } catch {
                    sink.finish(throwing: error)
                }
            }
            guard isStarted else { throw CancellationError() }
            let watch = patience.map { patience in
                Task {
                    try await Task.sleep(for: patience)
                    sink.finish(throwing: TransferError(.diskIO, "The file system does not answer."))
                }
            }
            defer { watch?.cancel() }
            for try await value in values { return value }
            throw CancellationError()
        }
    }
}

/// The file system behind `Policy`'s checks.
enum ResolvedPath {
    /// - Parameter path: absolute, without `..`.
    /// - Returns: the path with the links of its existing part resolved (realpath(3)); nil if that cannot be told.
    static func of(_ path: String) -> String? {
        var (existing, missing) = (path, "")
        while true {
            if let found = realpath(existing, nil) {
                defer { free(found) }
                let base = String(cString: found)
                return missing.isEmpty ? base : (base == "/" ? "" : base) + missing
            }
            // A dangling link may come to point anywhere.
            var information = stat()
            guard errno == ENOENT, lstat(existing, &information) != 0, let slash = existing.lastIndex(of: "/") else {
                return nil
            }
            missing = existing[slash...] + missing
            existing = slash == existing.startIndex ? "/" : String(existing[..<slash])
        }
    }
}

// MARK: - Values of dld as the node sees them

extension LocalTask {
    /// - Returns: nil if another program added the task.
    fileprivate init?(_ view: TaskView) {
        guard let key = view.spec.clientToken.flatMap(JobKey.init(token:)) else { return nil }
        let reason = view.reason?.rawValue ?? view.queueReason?.rawValue
        self.init(
            id: view.id, key: key, marks: TaskMarks(attributes: view.spec.attributes), state: view.state,
            wait: reason.map { Wait(reason: $0, error: view.error.map(JobError.init)) })
    }
}

extension TaskEvent {
    fileprivate init(_ event: EventView) {
        func number(_ member: String) -> Int64 { event[member]?.integerValue ?? 0 }
        let error = event["error"].flatMap { value in
            (try? JSONCoding.decode(TransferError.self, from: JSONCoding.encode(value), lenient: true)).map(
                JobError.init)
        }
        let wait = event["reason"]?.stringValue.map { Wait(reason: $0, error: error) }
        let change: Change =
            switch event.type {
            case .taskCompleted: .state(.completed, nil)
            case .taskFailed: .state(.failed, nil)
            case .taskCancelled: .state(.cancelled, nil)
            case .taskWaiting: .state(.waiting, wait)
            case .taskPaused: .state(.paused, nil)
            case .taskQueued: .state(.queued, wait)
            case .taskStarted, .taskResumed, .taskRestarted: .state(.running, nil)
            case .taskProgress:
                .progress(
                    bytes: max(number("bytesReceived"), number("bytesSent")),
                    total: number("bytesToSend") > 0
                        ? number("bytesToSend") : event["bytesExpected"]?.integerValue ?? -1,
                    rate: number("rate"))
            case .taskDecision where event["kind"]?.stringValue == DecisionKind.redirect.rawValue:
                .redirect(decision: number("decision"), url: event["request"]?["url"]?.stringValue ?? "")
            default: .other
            }
        self.init(
            sequence: event.sequence?.rawValue, task: event.task ?? TaskID(0),
            key: event["clientToken"]?.stringValue.flatMap(JobKey.init(token:)), change: change)
    }
}

extension Effect {
    /// The job that waits for its answer.
    fileprivate var key: JobKey? {
        switch self {
        case .add(let job, _): job.key
        case .stop(let key, _), .collect(let key, _), .inspect(let key, _), .pause(let key, _), .resume(let key, _),
            .discard(let key, _, _):
            key
        default: nil
        }
    }
}
