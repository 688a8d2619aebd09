import CurlEngine
import DaemonSetup
import FileKit
import Threading
import TransferCore
import TransferModel
import TransferStore

/// The exchanges of an upload or a data task. It stores the upload's progress before each step that relies on it.
final class RequestCourse: ExchangeCourse {
    private struct State {
        var steps: StrategySteps<UploadResult>
        /// The outcome of the last exchange that was answered.
        var last: ExchangeOutcome?
        /// Clients know the offset of the source at which this run began.
        var isAnnounced = false
        /// A client is being asked about an answer that has arrived.
        var asked: Asked?
        /// Takes the end of the exchange that runs.
        var then: Then?
        /// Set if the client wants the answer as a file.
        var held: RunningExchange?
    }

    private typealias Then = @Sendable (NextStep<UploadResult>) -> Void
    private typealias Asked = (then: @Sendable (DecisionAction?) -> Void, stopped: @Sendable () -> Void)

    private let attempt: RequestAttempt
    /// nil if nothing is sent.
    private let sending: SendingFile?
    /// Kept open as long as libcurl may read it.
    private let pinned: PinnedFiles
    private let recorder: RunRecorder
    private let exchange: SingleExchange
    private let state: Guarded<State>

    /// - Throws: what `StrategyRegistry.upload` throws.
    init(
        _ attempt: RequestAttempt, sending: SendingFile?, _ pinned: PinnedFiles, _ recorder: RunRecorder
    ) throws(TransferError) {
        self.attempt = attempt
        self.sending = sending
        self.pinned = pinned
        self.recorder = recorder
        exchange = SingleExchange(attempt.tools.engine)
        var request = StrategyRequest(attempt.record, attempt.policy, pinned, attempt.tools.time)
        request.streamed = attempt.stream?.body
        let strategy = try StrategyRegistry.upload(for: request)
        state = Guarded(State(steps: StrategySteps(strategy: strategy, stored: attempt.record.upload)))
        if let sending { attempt.run.counters.setToSend(sending.identity.size.rawValue) }
    }

    func begin(then: @escaping @Sendable (NextStep<UploadResult>) -> Void) {
        let first = state.withLock { $0.steps.next(after: nil) }
        guard let cache = attempt.cache, attempt.record.spec.kind == .data, case .success(let step?) = first,
            let exchange = step.exchange
        else { return then(first) }
        // No cache answers a request that must not be repeated.
        guard case .run = step else {
            return then(cache.mayLoad(exchange) ? first : .success(.failed(TaskCache.miss)))
        }
        look(secured(exchange), in: cache, then: then)
    }

    /// The cache finds an answer by the URL that would really be requested.
    private func secured(_ exchange: Exchange) -> Exchange {
        guard let url = attempt.run.hsts?.secured(exchange.url) else { return exchange }
        recorder.transferSecured(to: url)
        var exchange = exchange
        exchange.url = url
        return exchange
    }

    private func look(
        _ exchange: Exchange, in cache: TaskCache, then: @escaping @Sendable (NextStep<UploadResult>) -> Void
    ) {
        cache.look(exchange) { [self] way in
            switch way {
            case .send(let exchange): then(.success(.run(exchange)))
            case .miss: then(.success(.failed(TaskCache.miss)))
            case .answered(let outcome):
                guard let head = outcome.head, exchange.hold?.applies(to: head) == true else {
                    return then(next(after: recalled(outcome, exchange)))
                }
                // A client that decides about answers also decides about stored ones.
                ask(about: HeldAnswer(head: head)) { _ in
                    then(self.next(after: self.recalled(outcome, exchange)))
                } stopped: {
                    then(.success(nil))
                }
            }
        }
    }

    /// Tells the client of a stream about a stored answer, as about one that arrives. Its body follows.
    private func recalled(_ stored: ExchangeOutcome, _ exchange: Exchange) -> ExchangeOutcome {
        guard let stream = attempt.stream, let head = stored.head else { return stored }
        var outcome = stored
        let verdict = exchange.judge.judge(head)
        outcome.verdict = verdict
        recorder.tells(of: head, verdict)
        stream.prepare(decodes: false)
        if case .stop(let reason) = verdict { outcome.end = .stopped(reason) } else { stream.isWhole(stored.body) }
        return stream.ended(outcome)
    }

    /// Calls one of the closures once: `then` with the client's decision, or `stopped` if the run must stop first.
    private func ask(
        about answer: HeldAnswer, then: @escaping @Sendable (DecisionAction?) -> Void,
        stopped: @escaping @Sendable () -> Void
    ) {
        state.withLock { $0.asked = (then, stopped) }
        attempt.tools.ask(about: answer, of: attempt.record, attempt.run, retry: attempt.policy.retry) { [self] in
            $0 == .becomeDownload ? handOver(isStored: true) : asked()?.then($0)
        }
        if exchange.isCancelled { asked()?.stopped() }
    }

    private func asked() -> Asked? {
        state.withLock { state in
            defer { state.asked = nil }
            return state.asked
        }
    }

    func mustPrepare(_ exchange: Exchange) -> Bool {
        !exchange.digests.isEmpty
            || state.withLock { !$0.isAnnounced && exchange.payload.sourceOffset ?? .zero > .zero }
    }

    /// Adds the digests that must be sent with the exchange.
    func prepare(_ exchange: Exchange) async throws -> Exchange {
        guard !exchange.digests.isEmpty else { return exchange }
        attempt.run.set(phase: .verifying)
        defer { attempt.run.set(phase: nil) }
        var exchange = exchange
        exchange.ownHeaders += try await attempt.tools.files.digestFields(of: exchange, sending)
        return exchange
    }

    /// Reports the offset of the source at which the upload resumes.
    func willPerform(_ exchange: Exchange) async throws {
        guard !Task.isCancelled, let offset = exchange.payload.sourceOffset, offset > .zero, announces() else { return }
        attempt.run.sends(from: offset)
        let (record, now) = (attempt.record, attempt.tools.time.reading().wall)
        let size = sending?.identity.size.rawValue ?? -1
        try await attempt.tools.patience.persistently { transaction in
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskResumed, session: record.session, task: record.id,
                    payload: ["offset": .integer(offset.rawValue), "expected": .integer(size)]))
        }
    }

    /// Tells whether the offset is still unreported, and marks it as reported.
    private func announces() -> Bool {
        state.withLock { state in
            defer { state.isAnnounced = true }
            return !state.isAnnounced
        }
    }

    func perform(_ exchange: Exchange, then: @escaping @Sendable (NextStep<UploadResult>) -> Void) {
        if let offset = exchange.payload.sourceOffset, announces() { attempt.run.sends(from: offset) }
        let record = attempt.record
        let progress = state.withLock { $0.steps.strategy.upload }
        attempt.run.sends(canResume: exchange.mayResume(record.spec.kind, progress))
        recorder.begins(exchange)
        var context = attempt.run.context(observedBy: recorder)
        context.receiver = attempt.stream
        let room = attempt.cache.map { cache -> @Sendable (ResponseHead) -> Int in { cache.room(for: $0) } }
        attempt.stream?.prepare(decodes: exchange.decodesBody, keeping: room)
        state.withLock { $0.then = then }
        self.exchange.start(exchange, into: nil, sending: sending?.file, context: context) { outcome in
            guard let then = self.waiting() else { return }
            // The body of a redirect is not streamed before the client has refused to follow it.
            if let stream = self.attempt.stream, outcome.end.redirect == nil {
                return self.ended(stream.ended(outcome), of: exchange, then: then)
            }
            self.decode(outcome, of: exchange) { self.ended($0, of: exchange, then: then) }
        }
    }

    /// Returns who waits for the end of the exchange that runs; nil if that was handed over.
    private func waiting() -> Then? {
        state.withLock { state in
            defer { state.then = nil }
            return state.then
        }
    }

    /// The client wants the answer as a file. The requests end here, and a download continues the exchange.
    /// - Parameter isStored: the answer is in the cache, so the exchange brings no body.
    func handOver(isStored: Bool) {
        let running = isStored || exchange.running?.mayBeContinued != true ? nil : exchange.running
        state.withLock { $0.held = running ?? RunningExchange {} }
        guard running != nil, let then = waiting() else { return cancel() }
        attempt.cache?.land(wasStopped: true)
        then(.success(nil))
    }

    /// The exchange whose answer becomes a file; nil if none does.
    var held: RunningExchange? { state.withLock { $0.held } }

    private func ended(
        _ outcome: ExchangeOutcome, of exchange: Exchange,
        then: @escaping @Sendable (NextStep<UploadResult>) -> Void
    ) {
        switch attempt.cache?.ended(outcome, of: exchange) {
        case nil: then(next(after: outcome))
        // Only a stored answer came without a request.
        case .outcome(let outcome): then(next(after: outcome.wasSent ? outcome : recalled(outcome, exchange)))
        case .again(let exchange): then(.success(.run(exchange)))
        case .asks(let outcome, let answer):
            attempt.stream?.isWhole()
            ask(about: answer) { action in
                self.attempt.cache?.decided(action)
                then(self.next(after: outcome))
            } stopped: {
                then(.success(nil))
            }
        }
    }

    private func next(after outcome: ExchangeOutcome) -> NextStep<UploadResult> {
        state.withLock { state in
            let next = state.steps.next(after: outcome)
            if case .success(_?) = next, outcome.head != nil { state.last = outcome }
            return next
        }
    }

    /// Undoes the content codings of the answer's body, if there are any.
    private func decode(
        _ outcome: ExchangeOutcome, of exchange: Exchange, then: @escaping @Sendable (ExchangeOutcome) -> Void
    ) {
        var outcome = outcome
        switch AnswerBody(of: outcome, to: exchange) {
        case .asItCame: then(outcome)
        case .unreadable(let error):
            outcome.dropBody(because: error)
            then(outcome)
        case .coded(let codings):
            attempt.tools.files.decode(outcome.body, codings, atMost: exchange.responseLimit) { [outcome] decoded in
                var outcome = outcome
                switch decoded {
                case .success(let body): outcome.keep(body)
                case .failure(let error): outcome.dropBody(because: error)
                }
                then(outcome)
            }
        }
    }

    func store(_ progress: UploadProgress) async throws {
        try await attempt.tools.keep(progress, of: attempt.record.id)
        state.withLock { $0.steps.stored = progress }
    }

    func restart(because cause: TransferError) async throws {
        // The server has lost its part of the upload.
        let tools = attempt.tools
        try await tools.patience.persistently(tools.restarted(attempt.record, attempt.run, because: cause))
        state.withLock { state in
            state.steps.stored = nil
            state.isAnnounced = true
        }
    }

    func stopped() async throws {
        guard let unstored = state.withLock({ $0.steps.unstored }) else { return }
        try await attempt.tools.keep(unstored, of: attempt.record.id)
    }

    /// The error, with the upload's progress and the server's last answer.
    func error(of failure: AttemptFailure) -> any Error {
        let (unstored, last) = state.withLock { ($0.steps.unstored, $0.last) }
        var notes = PendingNotes(record: attempt.record, time: attempt.tools.time.reading().wall)
        if let unstored { notes.add(unstored) }
        // The recorder has already reported the answers that were streamed.
        if attempt.stream == nil, let last, let head = last.head {
            let response = ResponseInfo(
                head, of: attempt.record, body: last.body, isTruncated: last.isBodyTruncated)
            notes.add(response, of: head)
        }
        return AttemptEnding.failed(failure, notes)
    }

    func cancel() {
        exchange.cancel()
        attempt.cache?.cancel()
        asked()?.stopped()
    }
}

extension StrategyRequest {
    /// The input of a task's strategy.
    init(_ record: TaskRecord, _ policy: EffectivePolicy, _ pinned: PinnedFiles, _ time: any TimeSource) {
        self.init(
            sharing: record.$spec.namingKeptBody, pinned.$network,
            sessionHeaders: policy.sessionHeaders, now: time.reading().wall, source: record.source,
            upload: record.upload)
        acceptsAnyStatus = policy.acceptsAnyStatus
        asksChallenges = policy.asksChallenges
        redirects = policy.redirects
        hold = policy.hold(for: .response)
        codings = ContentDecoding.possible
        if let standing = policy.request { ask(standing) }
    }
}
