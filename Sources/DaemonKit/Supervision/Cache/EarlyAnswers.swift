import DaemonSetup
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Completes data tasks when they are added, if memory has their answer. Such a task needs no slot, no claim and no
/// attempt, which were most of the cost of a fresh hit.
///
/// It has no rules of its own. Policy, strategy and `TaskCache` determine the answer, as they do in an attempt. A task
/// that needs anything else is queued like any other.
struct EarlyAnswers: Sendable {
    let cache: CacheKeeper
    let policies: TaskPolicies
    let cookies: CookieKeeper
    let credentials: CredentialKeeper
    let hsts: HSTSKeeper
    let files: TransferFiles
    /// As in `Dispatcher`.
    let closedUntil: @Sendable (SessionRecord, Timestamp) -> Timestamp?
    let time: any TimeSource

    /// nil if no task of the session could begin now, or if its tasks have no cache.
    func answers(in session: SessionRecord) -> OfSession? {
        let now = time.reading().wall
        guard session.kind != .background, session.pause.since == nil, closedUntil(session, now) == nil else {
            return nil
        }
        return OfSession(
            early: self, session: session.key, now: now,
            policies: policies.policies(in: session.configuration, kind: session.kind),
            metrics: StoredMetrics(TaskMetrics([.fromCache(at: now)])))
    }

    /// Answers the tasks of one call.
    struct OfSession: Sendable {
        fileprivate let early: EarlyAnswers
        fileprivate let session: SessionKey
        fileprivate let now: Timestamp
        fileprivate let policies: TaskPolicies.OfSession
        /// The metrics of each answered task.
        fileprivate let metrics: StoredMetrics?
        /// The last answered task and its end, because other tasks of the call may have the same specification.
        fileprivate let last = Guarded<(specText: String, end: NewTask.End)?>(nil)

        /// Returns the end of an attempt that began now, if the attempt would not ask any server; otherwise nil.
        /// - Parameter url: the task's URL.
        func end(of task: AdmittedTask, at url: ParsedURL) -> NewTask.End? {
            guard Self.mayBegin(task.$spec, at: now) else { return nil }
            if let last = last.withLock({ $0 }), last.specText == task.specText { return last.end }
            guard let end = answer(to: task, at: url) else { return nil }
            if let text = task.specText { last.withLock { $0 = (text, end) } }
            return end
        }

        private func answer(to task: AdmittedTask, at url: ParsedURL) -> NewTask.End? {
            let spec = task.$spec
            var policy = policies.policy(of: spec)
            guard let cache = policy.cache, cache.request.usesStored, !policy.asks.contains(.challenge),
                // With HSTS, another URL would be requested.
                url.scheme != .http || early.hsts.hosts(of: session, policy)?.isKnown(url.host) != true,
                early.cache.remembers(url.requestURL, in: CachePlace(session, cache))
            else { return nil }
            let record = TaskRecord(
                id: .firstVolatile, session: session, spec: spec,
                status: Boxed(wrappedValue: TaskStatus(state: .running, createdAt: now)), host: task.host, position: 0)
            let user = CredentialKeeper.User(record, policy)
            policy.mayHaveCredentials = early.credentials.mayAnswer(user)
            policy.mayHaveTickets = early.credentials.mayNegotiate(user, policy, record.spec)
            guard let answer = early.answer(to: record, policy, cache) else { return nil }
            guard let document = StoredDocument(answer, of: record, keepsBody: true) else { return nil }
            return NewTask.End(
                result: TaskResult(bytes: ByteCount(Int64(answer.body.count)), verified: false),
                metrics: metrics, response: document, body: answer.body)
        }

        private static func mayBegin(_ spec: Boxed<TaskSpec>, at now: Timestamp) -> Bool {
            spec.wrappedValue.kind == .data && spec.wrappedValue.stream != true
                && spec.wrappedValue.startPaused != true && spec.wrappedValue.earliestBeginAt == nil
                && spec.wrappedValue.deadlineAt.map { $0 > now } ?? true
        }
    }

    private func answer(to record: TaskRecord, _ policy: EffectivePolicy, _ cache: CachePolicy) -> UploadResult? {
        guard
            let pinned = files.pinnedAtOnce(policy.$network, policy.url(of: record.$spec), owner: record.session.owner),
            let strategy = try? StrategyRegistry.upload(for: StrategyRequest(record, policy, pinned, time))
        else { return nil }
        var steps = StrategySteps(strategy, stored: nil)
        let look = TaskCache(
            self.cache, record, cache, policy.cookies, of: cookies.cookies(of: record, policy.cookies), nil, time)
        guard case .success(.run(let exchange)?) = steps.next(after: nil), let outcome = look.recalled(exchange),
            let head = outcome.head, exchange.hold?.applies(to: head) != true,
            case .success(.finished(let answer)?) = steps.next(after: outcome)
        else { return nil }
        return answer
    }
}

extension CachePlace {
    /// The storage for the tasks of a session.
    init(_ session: SessionKey, _ policy: CachePolicy) {
        self.init(session.owner, policy.isOwn ? session.identifier : "")
    }
}

extension ExchangeMetrics {
    /// The metrics of a stored answer.
    static func fromCache(at now: Timestamp) -> ExchangeMetrics {
        var metrics = ExchangeMetrics(fetchStart: now.rawValue * 1000)
        metrics.isFromCache = true
        return metrics
    }
}
