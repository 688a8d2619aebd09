import CurlEngine
import Threading
import TransferCore
import TransferModel

/// One running task as the rest of the daemon sees it: its figures, and the means to stop it.
///
/// A run stays in the `RunTable` until it has stopped completely, so that no task runs twice at once.
final class TransferRun: Sendable {
    private struct State {
        var life = RunLife()
        var figures = RunFigures()
        var metrics = TaskMetrics()
        var hasAnswered = false
        /// Set only if this run can prove credentials: the origins that accepted them, and whether a proxy did.
        var letPass: Set<String> = []
        var proxyLetPass = false
        var isElsewhere = false
        var secured: String?
        var hold = Scheduler.Candidate.Hold.held
        var stream: BodyStream?
        var onSample: (@Sendable () -> Void)?
        var segments: (@Sendable () -> [SegmentView])?
        var work: Task<Void, Never>?
        /// Continues the run with an answer that a client is asked about.
        var proceed: (@Sendable (DecisionAction?) -> Void)?
        var hasAsked = false
        /// When the default applies, in milliseconds of the boot clock.
        var decisionDeadline: Int64?
        /// What the run waits for while it has no Swift task.
        var awaited: (any Awaited)?
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var nextWaiter = 0
    }

    let task: TaskID
    let kind: TaskKind
    let session: SessionKey
    let host: String
    let priority: Double
    let position: Double
    let waitsForConnectivity: Bool
    /// When it got its slot, in milliseconds of the boot clock.
    let startedAt: Int64
    /// The member `interface` of the task or its session.
    let interface: String?
    /// What that was when the run began.
    let device: NetworkInterface?
    /// The host of the connection, if there is no proxy and no `interface`.
    var directHost: String? { interface == nil ? findDirectHost() : nil }
    private let findDirectHost: @Sendable () -> String?
    /// Called for the first good answer.
    private let tellAnswered: @Sendable (TransferRun) -> Void
    let counters: TransferCounters
    /// nil if the task has no cookies.
    let cookies: TaskCookies?
    /// nil if the task does not obey HSTS.
    let hsts: TaskHSTS?
    private let state = Guarded(State())

    /// - Parameters:
    ///   - startedAt: in milliseconds of the boot clock.
    ///   - directHost: evaluated when it is needed.
    ///   - hostAnswered: called on any thread, for the first good answer.
    init(
        _ record: TaskRecord, startedAt: Int64 = 0, waitsForConnectivity: Bool = true, interface: String? = nil,
        cookies: TaskCookies? = nil, hsts: TaskHSTS? = nil,
        directHost: @autoclosure @escaping @Sendable () -> String?,
        hostAnswered: @escaping @Sendable (TransferRun) -> Void
    ) {
        findDirectHost = directHost
        self.startedAt = startedAt
        self.waitsForConnectivity = waitsForConnectivity
        self.interface = interface
        device = interface.flatMap(NetworkInterface.init)
        tellAnswered = hostAnswered
        task = record.id
        kind = record.spec.kind
        session = record.session
        host = record.host
        priority = record.spec.priority?.value ?? TaskPriority.normal.value
        position = record.position
        counters = TransferCounters()
        self.cookies = cookies
        self.hsts = hsts
    }

    /// What the engine needs to know of the run for an exchange.
    func context(observedBy observer: any TransferObserver) -> TransferContext {
        TransferContext(
            task: task, session: session, counters: counters, observer: observer, cookies: cookies, hsts: hsts)
    }

    // MARK: Life

    func start(_ body: @escaping @Sendable () async -> Void) {
        let unwanted = state.withLock { state -> Task<Void, Never>? in
            // Under the lock, because this work itself may begin the work that follows it.
            let work = Task { await body() }
            state.work = work
            return state.life.isStopping ? work : nil
        }
        unwanted?.cancel()
    }

    /// Calls `body` when `awaited` is over. Until then, the run has no Swift task, because a Swift task keeps all the
    /// memory that it ever used, and there are thousands of waiting transfers.
    func wait(for awaited: any Awaited, _ body: @escaping @Sendable () -> Void) {
        let isStopping = state.withLock { state in
            state.work = nil
            state.awaited = awaited
            return state.life.isStopping
        }
        if isStopping { awaited.cancel() }
        awaited.whenOver { [self] in
            state.withLock { $0.awaited = nil }
            body()
        }
    }

    /// Asks the run to stop. A run that is already delivering its file finishes.
    func requestAbort(_ plan: RunLife.StopPlan = .transition(.preempted())) {
        let (work, awaited) = state.withLock { state -> (Task<Void, Never>?, (any Awaited)?) in
            state.life.requestStop(plan) ? (state.work, state.awaited) : (nil, nil)
        }
        work?.cancel()
        awaited?.cancel()
    }

    /// From here to its end, nothing stops the run. Returns false if a stop was requested before.
    func enterCommit() -> Bool { state.withLock { $0.life.commit() } }

    /// Nothing stops the run any more.
    var isCommitting: Bool { state.withLock { $0.life.isCommitting } }
    var isAborting: Bool { state.withLock { $0.life.isStopping } }

    /// Returns what happens to the task now that the run has stopped. This does not change afterwards.
    func takeAbortPlan() -> RunLife.StopPlan? { state.withLock { $0.life.takePlan() } }

    /// Notes that the caller who requested the stop does not wait any longer. If the run stops later, its task is
    /// queued again.
    /// - Returns: false if it has stopped already and the caller must still store its task's change.
    func abandonStop() -> Bool { state.withLock { $0.life.abandonStop() } }

    func ended() {
        let waiters = state.withLock { state in
            state.life.end()
            // Frees the memory that it used, because others may keep this run.
            state.work = nil
            state.proceed = nil
            state.decisionDeadline = nil
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: true) }
    }

    /// Returns when the run has stopped completely; false if it has not within `limit`.
    @discardableResult
    func waitForEnd(atMost limit: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            let waiter = state.withLock { state -> Int? in
                if case .ended = state.life.state { return nil }
                state.nextWaiter += 1
                state.waiters[state.nextWaiter] = continuation
                return state.nextWaiter
            }
            guard let waiter else { return continuation.resume(returning: true) }
            Task { [state] in
                try? await Task.sleep(for: limit)
                state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume(returning: false)
            }
        }
    }

    // MARK: Decisions

    /// Notes that a client is about to be asked about an answer.
    func decides(_ proceed: @escaping @Sendable (DecisionAction?) -> Void) {
        state.withLock { ($0.proceed, $0.hasAsked) = (proceed, true) }
    }

    /// A client was asked, or may have been asked, about an answer.
    var hasAsked: Bool { state.withLock { $0.hasAsked } }

    /// Notes that the question is open.
    func decides(_ question: DecisionRecord, at now: ClockReading) {
        state.withLock { state in
            // It may have been answered meanwhile.
            guard state.proceed != nil else { return }
            state.figures.phase = .deciding
            state.decisionDeadline = question.timeLeft(at: now).map { now.boot + $0.milliseconds }
        }
    }

    var decisionDeadline: Int64? { state.withLock { $0.decisionDeadline } }

    /// An answer waits for its decision.
    var holdsAnswer: Bool { state.withLock { $0.proceed != nil } }

    /// Continues the run after a decision; false if it holds no answer.
    /// - Parameter action: nil for the default.
    @discardableResult
    func isDecided(_ action: DecisionAction?) -> Bool {
        let proceed = state.withLock { state in
            if state.figures.phase == .deciding { state.figures.phase = nil }
            state.decisionDeadline = nil
            defer { state.proceed = nil }
            return state.proceed
        }
        return proceed?(action) != nil
    }

    // MARK: Slot

    var hold: Scheduler.Candidate.Hold { state.withLock { $0.hold } }
    func set(hold: Scheduler.Candidate.Hold) { state.withLock { $0.hold = hold } }

    /// The body goes to the client of its session; nil if it goes to a file after all.
    func streams(to stream: BodyStream?) { state.withLock { $0.stream = stream } }

    /// Only the client can make it continue: the client is asked about an answer, or does not take the body of a stream.
    /// - Parameter boot: milliseconds of the boot clock.
    func waitsForClient(at boot: Int64) -> Bool {
        let (phase, stream) = state.withLock { ($0.figures.phase, $0.stream) }
        return phase == .deciding || stream?.isStuck(at: boot) == true
    }

    // MARK: Figures

    func set(phase: TaskPhase?) { state.withLock { $0.figures.phase = phase } }

    /// Notes how many bytes of the file are decoded.
    func decoded(_ bytes: ByteCount) {
        state.withLock { ($0.figures.phase, $0.figures.decoded) = (.decoding, bytes.rawValue) }
    }

    /// The part file holds bytes of earlier runs.
    func holds(_ offset: ByteCount, of total: ByteCount?) {
        counters.setReceived(offset)
        counters.setExpected(total?.rawValue ?? -1)
        state.withLock { $0.figures.holds(offset) }
    }

    /// Notes an accepted answer whose first byte goes to `offset`.
    func accepted(at offset: ByteCount, canResume: Bool) {
        state.withLock { $0.figures.accepted(at: offset, canResume: canResume) }
    }

    /// Notes the first byte of the source that this run sends.
    func sends(from offset: ByteCount) {
        counters.setSent(offset)
        state.withLock { $0.figures.sends(from: offset) }
    }

    /// Notes that a request begins.
    func sends(canResume: Bool) { state.withLock { $0.figures.canResume = canResume } }

    /// A stop loses nothing that the run has done so far.
    var canResume: Bool { state.withLock { $0.figures.canResume } }

    /// A stop now would lose transferred bytes.
    var losesByStop: Bool { !canResume && stopsAtOnce && (bytesTransferred > 0 || bytesUploaded > 0) }

    private var stopsAtOnce: Bool {
        state.withLock { state in
            switch state.life.state {
            case .active, .stopping: true
            case .committing, .decided, .ended: false
            }
        }
    }

    /// The part file was emptied, or the upload starts over. The earlier bytes still count as transferred.
    func restarted() {
        let (received, sent) = (counters.bytesReceived, counters.bytesSent)
        counters.setReceived(.zero)
        counters.setSent(.zero)
        state.withLock { $0.figures.restarted(received: received, sent: sent) }
    }

    /// Body bytes that arrived in this run.
    var bytesTransferred: Int64 {
        let received = counters.bytesReceived
        return state.withLock { $0.figures.bytesTransferred(at: received) }
    }

    /// Bytes of the source or body that this run sent.
    var bytesUploaded: Int64 {
        let sent = counters.bytesSent
        return state.withLock { $0.figures.bytesUploaded(at: sent) }
    }

    /// Notes that the host delivers what was requested, although it is not complete yet.
    func hostAnswered() {
        let isFirst = state.withLock { state in
            defer { state.hasAnswered = true }
            return !state.hasAnswered
        }
        if isFirst { tellAnswered(self) }
    }

    var hasAnswered: Bool { state.withLock { $0.hasAnswered } }

    /// Notes an answer to a request that may have carried credentials which are not proven yet.
    func noteAnswer(_ head: ResponseHead) {
        state.withLock { state in
            state.letPass.formUnion(head.letPass)
            if let status = head.status, (200..<300).contains(status) { state.proxyLetPass = true }
        }
    }

    /// Returns the credentials that were sent and accepted, each by its own server.
    func proven(of unproven: [SettledDecisions.Space]) -> [SettledDecisions.Space] {
        let (letPass, proxyLetPass) = state.withLock { ($0.letPass, $0.proxyLetPass) }
        return unproven.filter { $0.isProxy ? proxyLetPass : letPass.contains($0.origin) }
    }

    func redirected(to url: String) {
        let isElsewhere = (try? URLRules.parse(url))?.hostKey != host
        state.withLock { ($0.isElsewhere, $0.secured) = (isElsewhere, nil) }
    }

    /// A URL of http is asked over https, because its host is known (HSTS).
    func secured(to url: String) {
        redirected(to: url)
        state.withLock { $0.secured = url }
    }

    /// The URL that is asked last, if HSTS turned http into https for it.
    var secured: String? { state.withLock { $0.secured } }

    /// The host answered, and redirected to another one.
    var isElsewhere: Bool { state.withLock { $0.isElsewhere } }
    /// The host sent bytes recently.
    var receives: Bool { !isUpload && rate > 0 }

    private var isUpload: Bool { kind == .upload }

    /// Adds the metrics of a finished exchange.
    func measured(_ entry: ExchangeMetrics) { state.withLock { $0.metrics.add(entry) } }

    /// Every answer came from the cache.
    var isAnsweredByCache: Bool {
        state.withLock { !$0.metrics.isEmpty && $0.metrics.entries.allSatisfy(\.isFromCache) }
    }

    /// The metrics of this run's finished exchanges.
    var metrics: TaskMetrics { state.withLock { $0.metrics } }

    /// Takes a sample for the rate. Called once or twice a second.
    /// - Returns: whether the host sent bytes recently. Bytes of an upload do not count, because they may only have
    ///   gone into a buffer.
    @discardableResult
    func sample(at milliseconds: Int64) -> Bool {
        let bytes = isUpload ? bytesUploaded : bytesTransferred
        let (onSample, moves) = state.withLock { state in
            state.figures.sample(bytes: bytes, at: milliseconds)
            return (state.onSample, !isUpload && state.figures.rate > 0)
        }
        onSample?()
        return moves
    }

    /// Sets the segmented download that is called at each sample and asked for its segments.
    func watch(samples: (@Sendable () -> Void)?, segments: (@Sendable () -> [SegmentView])?) {
        state.withLock { state in
            state.onSample = samples
            state.segments = segments
        }
    }

    /// The ranges of the file that are held or being fetched; empty while there is only one stream.
    var segments: [SegmentView] { state.withLock { $0.segments }?() ?? [] }

    var rate: Int64 { state.withLock { $0.figures.rate } }

    func figures() -> LiveFigures {
        let received = counters.bytesReceived.rawValue
        let expected = counters.bytesExpected
        let (sent, toSend) = (counters.bytesSent.rawValue, counters.bytesToSend)
        return state.withLock { state in
            let rate = state.figures.rate
            let (whole, done) = isUpload ? (toSend, sent) : (expected, received)
            return LiveFigures(
                phase: state.figures.phase ?? counters.phase,
                bytesReceived: received, bytesExpected: expected, rate: ByteRate(rate),
                eta: whole >= 0 && rate > 0 ? Seconds(Double(max(0, whole - done)) / Double(rate)) : nil,
                resumedFrom: state.figures.resumedFrom, bytesSent: sent, bytesToSend: max(0, toSend),
                bytesDecoded: state.figures.phase == .decoding ? state.figures.decoded : nil)
        }
    }
}
