import CurlEngine
import DaemonSetup
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
    let hosts: HostConnections
    let moves: PartMoves
    let streams: BodyStreams?
    let cache: CacheKeeper?
    /// Called when a task of this session asks a question while it runs.
    let asked: @Sendable (SessionKey) -> Void
    private let freeSlot: @Sendable (TransferRun) -> Void

    /// - Parameter freeSlot: called once only the commit of a run's end is outstanding.
    init(
        patience: StorePatience, engine: any ExchangePerforming, files: TransferFiles, transitions: TaskTransitions,
        completions: Completions, checkpoints: CheckpointKeeper, time: any TimeSource,
        minimumFreeSpace: @escaping @Sendable () -> ByteCount, hosts: HostConnections, moves: PartMoves,
        streams: BodyStreams? = nil, cache: CacheKeeper? = nil,
        asked: @escaping @Sendable (SessionKey) -> Void = { _ in },
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
        self.hosts = hosts
        self.moves = moves
        self.streams = streams
        self.cache = cache
        self.asked = asked
        self.freeSlot = freeSlot
    }

    /// Durably stores, however long that takes, that a request is in progress which must not be made twice, or the
    /// offset of an upload; nil forgets it.
    @inline(never)  // Keeps its locals out of suspended frames.
    func keep(_ progress: UploadProgress?, of id: TaskID) async throws {
        try await patience.persistently { try $0.setUpload(id, progress) }
    }

    /// Stores, however long that takes, that a download is delivered, because it must not be fetched again.
    /// - Parameters:
    ///   - active: the task's run, whose slot is free from here on.
    ///   - notes: observations that are not stored yet.
    ///   - mirrors: as in `Arrival`.
    ///   - hasCheckpoint: the store may have a checkpoint of this task.
    ///   - then: called once, on any thread.
    func complete(
        _ record: TaskRecord, of active: TransferRun, with result: TaskResult, after notes: PendingNotes?,
        from mirrors: [String] = [], hasCheckpoint: Bool,
        then: @escaping @Sendable (Result<AttemptEnding, any Error>) -> Void
    ) {
        var notes = notes
        // A completed task never resumes.
        notes?.dropCheckpoints()
        let run = CompletedRun(
            record: record, result: result, duration: passed(since: active.startedAt), notes: notes,
            metrics: StoredMetrics(active.metrics), hasCheckpoint: hasCheckpoint, hasAsked: active.hasAsked,
            mirrors: mirrors)
        freeSlot(active)
        completions.store(run) { outcome in then(outcome.map { .completed($0) }) }
    }

    @inline(never)  // Keeps its locals out of suspended frames.
    func complete(
        _ record: TaskRecord, of active: TransferRun, with result: TaskResult, after notes: PendingNotes? = nil,
        from mirrors: [String] = []
    ) async throws -> AttemptEnding {
        try await withCheckedContinuation { continuation in
            complete(record, of: active, with: result, after: notes, from: mirrors, hasCheckpoint: true) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    /// Stores, however long that takes, that an upload or a data task is done, because what was sent must not be sent
    /// again.
    /// - Parameters:
    ///   - active: the task's run, whose slot is free from here on.
    ///   - body: the response body that `task.body` serves.
    @inline(never)  // Keeps its locals out of suspended frames.
    func complete(
        _ record: TaskRecord, of active: TransferRun, with result: TaskResult, _ answer: UploadResult,
        keeping body: [UInt8]? = nil
    ) async throws -> AttemptEnding {
        let transitions = transitions
        var notes = PendingNotes(record: record, time: time.reading().wall)
        let document = StoredDocument(answer, of: record, keepsBody: body != nil)
        if let document { notes.add(document) }
        let run = CompletedRun(
            record: record, result: result, duration: passed(since: active.startedAt), notes: notes,
            metrics: StoredMetrics(active.metrics), hasCheckpoint: false, hasAsked: active.hasAsked)
        freeSlot(active)
        let outcome = try await patience.persistently { transaction in
            if let body {
                try transaction.setBody(record.id, .response, body, isShown: document?.showsKept ?? false)
            }
            guard let outcome = try transitions.complete([run], in: transaction).first else {
                throw TransferError(.internal, "A run that ended was not stored.")
            }
            return try outcome.get()
        }
        return .completed(outcome)
    }

    /// The duration of this run alone. Failed attempts, waits and pauses say nothing about the speed of the rest.
    private func passed(since began: Int64) -> Seconds {
        Seconds(rawValue: Double(max(0, time.reading().boot - began)) / 1000)
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
    init(_ head: ResponseHead, of record: TaskRecord, body: [UInt8], isTruncated: Bool) {
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
            ask(about: .begun(head), of: record, run, retry: retry) { action in
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

/// Applies the default answers of questions about held answers.
struct HeldAnswers: Sendable {
    let store: TransferStore
    let runs: RunTable
    let transitions: TaskTransitions

    /// - Returns: milliseconds until the next default applies; nil if none is pending.
    func pass(at now: ClockReading) async throws -> Int64? {
        let transitions = transitions
        var next: Int64?
        for run in runs.all {
            guard let deadline = run.decisionDeadline else { continue }
            guard deadline <= now.boot else {
                next = min(next ?? .max, deadline - now.boot)
                continue
            }
            let id = run.task
            run.isDecided(try await store.write { try transitions.takeDefault(of: id, in: $0) })
        }
        return next
    }
}
