import CurlEngine
import DaemonSetup
import Logging
import TransferCore
import TransferModel
import TransferStore

/// The tools that attempts share, in one object. It is narrow, so that an attempt can be tested without a daemon.
final class AttemptTools: Sendable {
    let patience: StorePatience
    let engine: any ExchangePerforming
    let files: TransferFiles
    let transitions: TaskTransitions
    let completions: Completions
    let checkpoints: CheckpointKeeper
    let time: any TimeSource
    let minimumFreeSpace: @Sendable () -> ByteCount
    let slots: SharedSlots
    let moves: PartMoves
    let streams: BodyStreams?
    let cache: CacheKeeper?
    let logger: Logger
    /// Called when a task of this session asks a question while it runs.
    let asked: @Sendable (SessionKey) -> Void
    private let freeSlot: @Sendable (TransferRun) -> Void

    /// - Parameter freeSlot: called once only the commit of a run's end is outstanding.
    init(
        patience: StorePatience, engine: any ExchangePerforming, files: TransferFiles, transitions: TaskTransitions,
        completions: Completions, checkpoints: CheckpointKeeper, time: any TimeSource,
        minimumFreeSpace: @escaping @Sendable () -> ByteCount, slots: SharedSlots, moves: PartMoves,
        streams: BodyStreams?, cache: CacheKeeper?, logger: Logger, asked: @escaping @Sendable (SessionKey) -> Void,
        freeSlot: @escaping @Sendable (TransferRun) -> Void
    ) {
        self.patience = patience
        self.engine = engine
        self.files = files
        self.transitions = transitions
        self.completions = completions
        self.checkpoints = checkpoints
        self.time = time
        self.minimumFreeSpace = minimumFreeSpace
        self.slots = slots
        self.moves = moves
        self.streams = streams
        self.cache = cache
        self.logger = logger
        self.asked = asked
        self.freeSlot = freeSlot
    }

    /// Durably stores, however long that takes, that a request is in progress which must not be made twice, or the
    /// offset of an upload; nil forgets it.
    @inline(never)  // Keeps its locals out of suspended frames.
    func keep(_ progress: UploadProgress?, of id: TaskID) async throws {
        try await patience.persistently { try $0.setUpload(id, progress) }
    }

    /// Notes in the log and in its run that a task starts over.
    /// - Returns: what the transaction must store that drops what the task held.
    func restarted(
        _ record: TaskRecord, _ run: TransferRun, because cause: TransferError, keeping begun: UploadProgress? = nil
    ) -> @Sendable (StoreTransaction) throws -> Void {
        run.restarted()
        let now = time.reading().wall
        logger.info(
            "begins again from 0",
            metadata: ["task": "\(record.id)", "code": "\(cause.code.rawValue)", "error": "\(cause.message)"])
        return { transaction in
            try transaction.setUpload(record.id, begun)
            _ = try transaction.append(.restarted(record, because: cause, at: now))
        }
    }

    /// Stores, however long that takes, that a task is done, because it must not be fetched or sent again.
    /// - Parameters:
    ///   - active: the task's run, whose slot is free from here on.
    ///   - notes: observations that are not stored yet.
    ///   - mirrors: as in `Arrival`.
    ///   - hasCheckpoint: the store may have a checkpoint of this task.
    ///   - body: as in `CompletedRun`.
    ///   - then: called once, on any thread.
    func complete(
        _ record: TaskRecord, of active: TransferRun, with result: TaskResult, after notes: PendingNotes?,
        from mirrors: [String] = [], hasCheckpoint: Bool, keeping body: CompletedRun.Body? = nil,
        then: @escaping @Sendable (Result<AttemptEnding, any Error>) -> Void
    ) {
        var notes = notes
        // A completed task never resumes.
        notes?.dropCheckpoints()
        let run = CompletedRun(
            record: record, result: result, duration: passed(since: active.startedAt), notes: notes,
            metrics: StoredMetrics(active.metrics), hasCheckpoint: hasCheckpoint, hasAsked: active.hasAsked,
            mirrors: mirrors, body: body)
        freeSlot(active)
        completions.store(run) { outcome in then(outcome.map { .completed($0) }) }
    }

    @inline(never)  // Keeps its locals out of suspended frames.
    func complete(
        _ record: TaskRecord, of active: TransferRun, with result: TaskResult, after notes: PendingNotes? = nil,
        from mirrors: [String] = [], hasCheckpoint: Bool = true, keeping body: CompletedRun.Body? = nil
    ) async throws -> AttemptEnding {
        try await withCheckedContinuation { continuation in
            complete(
                record, of: active, with: result, after: notes, from: mirrors, hasCheckpoint: hasCheckpoint,
                keeping: body
            ) { continuation.resume(returning: $0) }
        }.get()
    }

    /// The same for an upload or a data task.
    /// - Parameter body: the response body that `task.body` serves.
    @inline(never)  // Keeps its locals out of suspended frames.
    func complete(
        _ record: TaskRecord, of active: TransferRun, with result: TaskResult, _ answer: UploadResult,
        keeping body: [UInt8]? = nil
    ) async throws -> AttemptEnding {
        var notes = PendingNotes(record: record, time: time.reading().wall)
        let document = StoredDocument(answer, of: record, keepsBody: body != nil)
        if let document { notes.add(document) }
        return try await complete(
            record, of: active, with: result, after: notes, hasCheckpoint: false,
            keeping: body.map { ($0, isShown: document?.showsKept ?? false) })
    }

    /// The duration of this run alone. Failed attempts, waits and pauses say nothing about the speed of the rest.
    private func passed(since began: Int64) -> Seconds {
        Seconds(rawValue: Double(max(0, time.reading().boot - began)) / 1000)
    }
}

extension EventRecord {
    /// The task drops what it held, or these pieces of it.
    static func restarted(
        _ record: TaskRecord, because cause: TransferError, of pieces: JSONValue? = nil, at now: Timestamp
    ) -> EventRecord {
        var payload: JSONMembers = ["code": .string(cause.code.rawValue), "message": .string(cause.message)]
        if let pieces { payload.add("pieces", pieces) }
        return EventRecord(
            time: now, type: .taskRestarted, session: record.session, task: record.id, payload: payload)
    }
}

extension StoredDocument {
    /// Returns nil if the task completed without an answer.
    /// - Parameter keepsBody: the store keeps the body too, for `task.body`.
    init?(_ answer: UploadResult, of record: TaskRecord, keepsBody: Bool) {
        guard let head = answer.head else { return nil }
        let showsKept =
            keepsBody && !answer.isBodyTruncated && (1...ResponseBody.most).contains(answer.body.count)
        let response = ResponseInfo(
            head, of: record, body: showsKept ? [] : answer.body, isTruncated: answer.isBodyTruncated)
        self.init(response, whole: WholeHead(head, beyond: response), showsKept: showsKept)
    }
}

extension ResponseInfo {
    /// The answer to an upload or a data task.
    init(_ head: ResponseHead, of record: TaskRecord, body: [UInt8] = [], isTruncated: Bool = false) {
        let length = head.values("Content-Length").last.flatMap { Int64($0) }
        self.init(
            head, requested: record.spec.url ?? "",
            verdict: .accept(Acceptance(offset: .zero, total: length.map { ByteCount($0) })))
        guard !body.isEmpty else { return }
        self.body = ResponseBody(
            showing: Array(body.prefix(ResponseBody.most)), isTruncated: isTruncated || body.count > ResponseBody.most)
    }
}

// MARK: - Decisions

/// Questions about answers that an exchange holds at their headers until a client decides.
extension AttemptTools {
    /// Returns nil if the policy asks no questions about answers; then no exchange holds one.
    /// - Parameter handOver: called instead if the answer is to become a file, and told whether the cache has it.
    func asking(
        of record: TaskRecord, _ run: TransferRun, _ policy: EffectivePolicy,
        orElse handOver: (@Sendable (Bool) -> Void)? = nil
    ) -> RunRecorder.Asking? {
        guard policy.asks.contains(.response) else { return nil }
        return { [self, retry = policy.retry] head, proceed in
            ask(about: HeldAnswer(head: head), of: record, run, retry: retry) { action in
                guard action == .becomeDownload, let handOver else { return proceed() }
                handOver(head.cachedAge != nil)
            }
        }
    }

    /// - Parameters:
    ///   - retry: used if the question cannot be stored. Then no body is fetched without consent, and the attempt
    ///   fails.
    ///   - proceed: called once with the decision, on any thread; nil means the default. It is never called if the run
    ///   stops first.
    func ask(
        about held: HeldAnswer, of record: TaskRecord, _ run: TransferRun, retry: RetryPolicy,
        proceed: @escaping @Sendable (DecisionAction?) -> Void
    ) {
        let (transitions, id) = (transitions, record.id)
        // Set before the question is published, because its answer may come at once.
        run.decides(proceed)
        checkpoints.store { [self] in
            do {
                let question = try await patience.persistently { [time] transaction in
                    let question = try transitions.question(about: held, of: id, in: transaction)
                    // The commit publishes the question, and then the phase must say so.
                    if case .open(let open) = question { run.decides(open, at: time.reading()) }
                    return question
                }
                switch question {
                case .settled(let action): run.isDecided(action)
                case .open: asked(record.session)
                }
            } catch {
                let cause = error as? TransferError ?? TransferError(.internal, "\(error)")
                let failure = AttemptFailure(error: cause, disposition: .transient(after: nil))
                run.requestAbort(
                    .transition(
                        patience.isStopping()
                            ? .preempted() : .attemptFailed(failure, retry, jitter: Double.random(in: 0..<1))))
            }
        }
    }
}
