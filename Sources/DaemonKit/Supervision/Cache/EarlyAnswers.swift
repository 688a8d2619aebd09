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

    /// Returns the end of an attempt that began now, if the attempt would not ask any server; otherwise nil. It takes the
    /// task and its URL.
    typealias Answers = @Sendable (AdmittedTask, ParsedURL) -> NewTask.End?

    /// Returns what answers the tasks of one call; nil if no task of the session could begin now.
    func answers(in session: SessionRecord) -> Answers? {
        let now = time.reading().wall
        guard session.kind != .background, session.pause.since == nil, closedUntil(session, now) == nil else {
            return nil
        }
        let policies = policies.policies(in: session.configuration, kind: session.kind)
        let metrics = StoredMetrics(TaskMetrics([.fromCache(at: now)]))
        // The last answered task and its end, because other tasks of the call may have the same specification.
        let last = Guarded<(specText: String, end: NewTask.End)?>(nil)
        return { task, url in
            guard Self.mayBegin(task.$spec, at: now) else { return nil }
            if let last = last.withLock({ $0 }), last.specText == task.specText { return last.end }
            guard
                let answer = answer(to: task, at: url, in: session.key, policies.policy(of: task.$spec), at: now),
                let document = StoredDocument(answer.result, of: answer.record, keepsBody: true)
            else { return nil }
            let body = answer.result.body
            let end = NewTask.End(
                result: TaskResult(bytes: ByteCount(Int64(body.count)), verified: false), metrics: metrics,
                response: document, body: body)
            if let text = task.specText { last.withLock { $0 = (text, end) } }
            return end
        }
    }

    private func answer(
        to task: AdmittedTask, at url: ParsedURL, in session: SessionKey, _ policy: EffectivePolicy, at now: Timestamp
    ) -> (record: TaskRecord, result: UploadResult)? {
        var policy = policy
        guard let cache = policy.cache, cache.request.usesStored, !policy.asks.contains(.challenge),
            // With HSTS, another URL would be requested.
            url.scheme != .http || hsts.hosts(of: session, policy)?.isKnown(url.host) != true,
            self.cache.remembers(url.requestURL, in: CachePlace(session, cache))
        else { return nil }
        let record = TaskRecord(
            id: .firstVolatile, session: session, spec: task.$spec,
            status: Boxed(wrappedValue: TaskStatus(state: .running, createdAt: now)), host: task.host, position: 0)
        let user = CredentialKeeper.User(record, policy)
        policy.mayHaveCredentials = credentials.mayAnswer(user)
        policy.mayHaveTickets = credentials.mayNegotiate(user, policy, record.spec)
        return answer(to: record, policy, cache).map { (record, $0) }
    }

    private static func mayBegin(_ spec: Boxed<TaskSpec>, at now: Timestamp) -> Bool {
        spec.wrappedValue.kind == .data && spec.wrappedValue.stream != true
            && spec.wrappedValue.startPaused != true && spec.wrappedValue.earliestBeginAt == nil
            && spec.wrappedValue.deadlineAt.map { $0 > now } ?? true
    }

    private func answer(to record: TaskRecord, _ policy: EffectivePolicy, _ cache: CachePolicy) -> UploadResult? {
        guard
            let pinned = files.pinnedAtOnce(policy.$network, policy.url(of: record.$spec), owner: record.session.owner),
            let strategy = try? StrategyRegistry.upload(for: StrategyRequest(record, policy, pinned, time))
        else { return nil }
        var steps = StrategySteps(strategy: strategy, stored: nil)
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
