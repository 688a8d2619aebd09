import CurlEngine
import Threading
import TransferCore
import TransferModel
import TransferRPC

/// What a run waits for.
protocol Awaited: Sendable {
    /// Calls `body` once, on any thread, when it is over; at once where it is.
    func whenOver(_ body: @escaping @Sendable () -> Void)
    /// Ends it soon.
    func cancel()
}

/// One running task as the rest of the daemon sees it: its figures, and the way to stop it.
///
/// A run stays in the `RunTable` until it has wound down, so that no task is ever run twice at once.
final class TransferRun: Sendable {
    fileprivate struct State {
        var life = RunLife()
        var figures = RunFigures()
        var metrics = TaskMetrics()
        var hasAnswered = false
        /// Kept only if credentials are to be proven by it: origins that let them pass, and whether a proxy did.
        var letPass: Set<String> = []
        var proxyLetPass = false
        var isElsewhere = false
        var onSample: (@Sendable () -> Void)?
        var segments: (@Sendable () -> [SegmentView])?
        var work: Task<Void, Never>?
        /// Lets the run go on with an answer that a client is asked about.
        var proceed: (@Sendable (DecisionAction?) -> Void)?
        var hasAsked = false
        /// When that happens by default, of the boot clock.
        var decisionDeadline: Int64?
        /// What it waits for while it has no task.
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
    /// Host the connection goes to, where no proxy stands between.
    var directHost: String? { findDirectHost() }
    private let findDirectHost: @Sendable () -> String?
    /// Called for the first good answer.
    private let tellAnswered: @Sendable (TransferRun) -> Void
    let counters: TransferCounters
    /// nil if the task has none.
    let cookies: TaskCookies?
    /// nil if it does not obey HSTS.
    let hsts: TaskHSTS?
    private let state = Guarded(State())

    /// - Parameters:
    ///   - startedAt: of the boot clock, in milliseconds.
    ///   - directHost: found out when it is asked for.
    ///   - hostAnswered: called on any thread, for the first good answer.
    init(
        _ record: TaskRecord, startedAt: Int64 = 0, waitsForConnectivity: Bool = true,
        cookies: TaskCookies? = nil, hsts: TaskHSTS? = nil,
        directHost: @autoclosure @escaping @Sendable () -> String?,
        hostAnswered: @escaping @Sendable (TransferRun) -> Void
    ) {
        findDirectHost = directHost
        self.startedAt = startedAt
        self.waitsForConnectivity = waitsForConnectivity
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

    // MARK: Life

    func start(_ body: @escaping @Sendable () async -> Void) {
        let unwanted = state.withLock { state -> Task<Void, Never>? in
            // Under the lock: the task itself may begin the one that follows it.
            let work = Task { await body() }
            state.work = work
            return state.isStopping ? work : nil
        }
        unwanted?.cancel()
    }

    /// Calls `body` when `awaited` is over. Until then the run has no task: a task keeps the memory of all it ever did, and
    /// of transfers that wait there are thousands.
    func wait(for awaited: any Awaited, _ body: @escaping @Sendable () -> Void) {
        let isStopping = state.withLock { state in
            state.work = nil
            state.awaited = awaited
            return state.isStopping
        }
        if isStopping { awaited.cancel() }
        awaited.whenOver { [self] in
            state.withLock { $0.awaited = nil }
            body()
        }
    }

    /// Asks the run to stop reading. A run that is already delivering its file is left to finish.
    func requestAbort(_ plan: RunLife.StopPlan = .transition(.preempted())) {
        let (work, awaited) = state.withLock { state -> (Task<Void, Never>?, (any Awaited)?) in
            state.life.handle(.stopRequested(plan)).stops ? (state.work, state.awaited) : (nil, nil)
        }
        work?.cancel()
        awaited?.cancel()
    }

    /// From here to the end nothing stops the run. False if a stop was asked for before.
    func enterCommit() -> Bool { state.withLock { $0.life.handle(.commitRequested).commits } }

    /// Nothing stops the run any more.
    var isCommitting: Bool { state.withLock { $0.life.isCommitting } }
    var isAborting: Bool { state.withLock { $0.isStopping } }

    /// What becomes of the task now that the run has stopped; not changed any more after this.
    func takeAbortPlan() -> RunLife.StopPlan? {
        for case .follow(let plan) in state.withLock({ $0.life.handle(.planRequested) }) { return plan }
        return nil
    }

    /// The caller who asked for the stop waits no longer: if the run stops later its task is queued again.
    /// - Returns: false if it has stopped already, and the task is still the caller's to store.
    func abandonStop() -> Bool { state.withLock { $0.life.handle(.stopAbandoned).requeuesLater } }

    func ended() {
        let waiters = state.withLock { state in
            _ = state.life.handle(.ended)
            // What it took of memory goes with it, whoever keeps this run.
            state.work = nil
            state.proceed = nil
            state.decisionDeadline = nil
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: true) }
    }

    /// Returns when the run has wound down; false if it had not within `limit`.
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

    /// A client is about to be asked about an answer.
    func decides(_ proceed: @escaping @Sendable (DecisionAction?) -> Void) {
        state.withLock { ($0.proceed, $0.hasAsked) = (proceed, true) }
    }

    /// A client was, or may have been, asked about an answer.
    var hasAsked: Bool { state.withLock { $0.hasAsked } }

    /// The question is open.
    func decides(_ question: DecisionRecord, at now: ClockReading) {
        state.withLock { state in
            // It may have been answered meanwhile.
            guard state.proceed != nil else { return }
            state.figures.phase = .deciding
            state.decisionDeadline = question.timeLeft(at: now).map { now.boot + $0.milliseconds }
        }
    }

    var decisionDeadline: Int64? { state.withLock { $0.decisionDeadline } }

    /// The run may go on.
    /// - Parameter action: nil: as by default.
    func isDecided(_ action: DecisionAction?) {
        let proceed = state.withLock { state in
            if state.figures.phase == .deciding { state.figures.phase = nil }
            state.decisionDeadline = nil
            defer { state.proceed = nil }
            return state.proceed
        }
        proceed?(action)
    }

    // MARK: Figures

    func set(phase: TaskPhase?) { state.withLock { $0.figures.phase = phase } }

    /// So many bytes of the file are decoded.
    func decoded(_ bytes: ByteCount) {
        state.withLock { ($0.figures.phase, $0.figures.decoded) = (.decoding, bytes.rawValue) }
    }

    /// The part file holds bytes of earlier runs.
    func holds(_ offset: ByteCount, of total: ByteCount?) {
        counters.setReceived(offset)
        counters.setExpected(total?.rawValue ?? -1)
        state.withLock { $0.figures.holds(offset) }
    }

    /// An answer is accepted whose first byte goes to `offset`.
    func accepted(at offset: ByteCount, canResume: Bool) {
        state.withLock { $0.figures.accepted(at: offset, canResume: canResume) }
    }

    /// The first byte of the source that this run sends.
    func sends(from offset: ByteCount) {
        counters.setSent(offset)
        state.withLock { $0.figures.sends(from: offset) }
    }

    /// A request begins.
    func sends(canResume: Bool) { state.withLock { $0.figures.canResume = canResume } }

    /// What it has done so far outlasts a stop.
    var canResume: Bool { state.withLock { $0.figures.canResume } }

    /// A stop now loses bytes that have passed already.
    var losesByStop: Bool { !canResume && stopsAtOnce && (bytesTransferred > 0 || bytesUploaded > 0) }

    private var stopsAtOnce: Bool {
        state.withLock { state in
            switch state.life.state {
            case .active, .stopping: true
            case .committing, .decided, .ended: false
            }
        }
    }

    /// The part was emptied, or the upload begins anew; the bytes it had still count as transferred.
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

    /// The host gives what was asked for, though not all of it is here yet.
    func hostAnswered() {
        let isFirst = state.withLock { state in
            defer { state.hasAnswered = true }
            return !state.hasAnswered
        }
        if isFirst { tellAnswered(self) }
    }

    var hasAnswered: Bool { state.withLock { $0.hasAnswered } }

    /// An answer to a request that credentials may have gone along with which have yet to be proven.
    func noteAnswer(_ head: ResponseHead) {
        state.withLock { state in
            state.letPass.formUnion(head.letPass)
            if let status = head.status, (200..<300).contains(status) { state.proxyLetPass = true }
        }
    }

    /// The credentials that were sent and let pass, each by its own server.
    func proven(of unproven: [SettledDecisions.Space]) -> [SettledDecisions.Space] {
        let (letPass, proxyLetPass) = state.withLock { ($0.letPass, $0.proxyLetPass) }
        return unproven.filter { $0.isProxy ? proxyLetPass : letPass.contains($0.origin) }
    }

    func redirected(to url: String) {
        let isElsewhere = (try? URLRules.parse(url))?.hostKey != host
        state.withLock { $0.isElsewhere = isElsewhere }
    }

    /// Its host answered, and sent it to another.
    var isElsewhere: Bool { state.withLock { $0.isElsewhere } }
    /// The host sent bytes of late.
    var receives: Bool { !isUpload && rate > 0 }

    private var isUpload: Bool {
        switch kind {
        case .upload: true
        case .download, .data: false
        }
    }

    /// An exchange is over.
    func measured(_ entry: ExchangeMetrics) { state.withLock { $0.metrics.add(entry) } }

    /// It has an answer, and nobody was asked for it.
    var isAnsweredByCache: Bool {
        state.withLock { !$0.metrics.isEmpty && $0.metrics.entries.allSatisfy(\.isFromCache) }
    }

    /// The exchanges of this run that are over.
    var metrics: TaskMetrics { state.withLock { $0.metrics } }

    /// Takes a sample for the rate; called once or twice a second.
    /// - Returns: whether the host sent bytes of late. What an upload sends may only have gone into a buffer.
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

    /// Whoever fetches in segments is called at each sample, and asked for them.
    func watch(samples: (@Sendable () -> Void)?, segments: (@Sendable () -> [SegmentView])?) {
        state.withLock { state in
            state.onSample = samples
            state.segments = segments
        }
    }

    /// Parts of the file that are held or being fetched; empty where there is one stream only.
    var segments: [SegmentView] { state.withLock { $0.segments }?() ?? [] }

    var rate: Int64 { state.withLock { $0.figures.rate } }

    func figures() -> TaskView.Live {
        let received = counters.bytesReceived.rawValue
        let expected = counters.bytesExpected
        let (sent, toSend) = (counters.bytesSent.rawValue, counters.bytesToSend)
        return state.withLock { state in
            let rate = state.figures.rate
            let (whole, done) = isUpload ? (toSend, sent) : (expected, received)
            return TaskView.Live(
                phase: state.figures.phase ?? counters.phase,
                bytesReceived: received, bytesExpected: expected, rate: ByteRate(rate),
                eta: whole >= 0 && rate > 0 ? Seconds(Double(max(0, whole - done)) / Double(rate)) : nil,
                resumedFrom: state.figures.resumedFrom, bytesSent: sent, bytesToSend: max(0, toSend),
                bytesDecoded: state.figures.phase == .decoding ? state.figures.decoded : nil)
        }
    }
}

extension TransferRun.State {
    /// A stop was asked for, and the run was not past it.
    fileprivate var isStopping: Bool {
        switch life.state {
        case .stopping: true
        case .decided(let plan): plan != nil
        case .active, .committing, .ended: false
        }
    }
}
