import CurlEngine
import Threading
import TransferCore
import TransferModel

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
    enum Stage: Sendable { case active, committing, ended }

    /// What becomes of a task that is still `running` in the store when its run has stopped.
    enum AbortPlan: Sendable {
        case transition(TaskEvent)
        /// Whoever asked for the stop stores it (`RunStops`).
        case leftToCaller
    }

    private struct State {
        var stage = Stage.active
        var abort: AbortPlan?
        /// The run has stopped and what becomes of its task is decided by `abort` as it was.
        var isAbortTaken = false
        var phase: TaskPhase?
        var resumedFrom: Int64?
        /// What it has done so far outlasts a stop; nothing is done before there is an answer.
        var canResume = true
        /// Offset of the first byte of this run's answer, and what earlier answers of this run brought.
        var base: Int64 = 0
        var earlier: Int64 = 0
        /// Likewise for what is sent: offset in the source.
        var sendBase: Int64 = 0
        var sentEarlier: Int64 = 0
        var meter = RateMeter()
        var hasAnswered = false
        var isElsewhere = false
        var onSample: (@Sendable () -> Void)?
        var segments: (@Sendable () -> [SegmentFigures])?
        var work: Task<Void, Never>?
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
    /// When it got its slot, in milliseconds of the boot clock.
    let startedAt: Int64
    /// Host the connection goes to, where no proxy stands between.
    var directHost: String? { findDirectHost() }
    private let findDirectHost: @Sendable () -> String?
    /// Called for the first good answer.
    private let tellAnswered: @Sendable () -> Void
    let counters: TransferCounters
    private let state = Guarded(State())

    /// - Parameters:
    ///   - startedAt: of the boot clock, in milliseconds.
    ///   - directHost: found out when it is asked for.
    ///   - hostAnswered: called on any thread, for the first good answer.
    init(
        _ record: TaskRecord, startedAt: Int64 = 0, directHost: @autoclosure @escaping @Sendable () -> String?,
        hostAnswered: @escaping @Sendable () -> Void
    ) {
        findDirectHost = directHost
        self.startedAt = startedAt
        tellAnswered = hostAnswered
        task = record.id
        kind = record.spec.kind
        session = record.session
        host = record.host
        priority = record.spec.priority?.value ?? TaskPriority.normal.value
        position = record.position
        counters = TransferCounters()
    }

    func start(_ body: @escaping @Sendable () async -> Void) {
        let unwanted = state.withLock { state -> Task<Void, Never>? in
            // Under the lock: the task itself may begin the one that follows it.
            let work = Task { await body() }
            state.work = work
            return state.abort != nil && state.stage == .active ? work : nil
        }
        unwanted?.cancel()
    }

    /// Goes on with `body`, in a task of its own, when `awaited` is over. Until then it has none: a task keeps the memory of
    /// all it ever did, and of transfers that wait there are thousands.
    func goOn(after awaited: (any Awaited)?, _ body: @escaping @Sendable () async -> Void) {
        guard let awaited else { return start(body) }
        let isAborting = state.withLock { state in
            state.work = nil
            state.awaited = awaited
            return state.abort != nil
        }
        if isAborting { awaited.cancel() }
        awaited.whenOver { [self] in
            state.withLock { $0.awaited = nil }
            start(body)
        }
    }

    /// Asks the run to stop reading. A run that is already delivering its file is left to finish.
    func requestAbort(_ plan: AbortPlan = .transition(.preempted())) {
        let (work, awaited) = state.withLock { state -> (Task<Void, Never>?, (any Awaited)?) in
            guard state.stage == .active else { return (nil, nil) }
            if case .leftToCaller? = state.abort {} else { state.abort = plan }
            return (state.work, state.awaited)
        }
        work?.cancel()
        awaited?.cancel()
    }

    /// From here to the end nothing stops the run. False where a stop was asked for before.
    func enterCommit() -> Bool {
        state.withLock { state in
            guard state.stage == .active, state.abort == nil else { return false }
            state.stage = .committing
            return true
        }
    }

    /// Nothing stops the run any more.
    var isCommitting: Bool { state.withLock { $0.stage == .committing } }
    var isAborting: Bool { state.withLock { $0.abort != nil } }

    /// What becomes of the task now that the run has stopped; not changed any more after this.
    func takeAbortPlan() -> AbortPlan? {
        state.withLock { state in
            state.isAbortTaken = true
            return state.abort
        }
    }

    /// Whoever asked for the stop waits no longer: where the run stops later its task is queued again.
    /// - Returns: false where it has stopped already, and the task is still the caller's to store.
    func abandonStop() -> Bool {
        state.withLock { state in
            guard !state.isAbortTaken else { return false }
            state.abort = .transition(.preempted())
            return true
        }
    }

    func ended() {
        let waiters = state.withLock { state in
            state.stage = .ended
            // What it took of memory goes with it, whoever keeps this run.
            state.work = nil
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: true) }
    }

    /// Returns when the run has wound down; false where it had not within `limit`.
    @discardableResult
    func waitForEnd(atMost limit: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            let waiter = state.withLock { state -> Int? in
                if state.stage == .ended { return nil }
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

    func set(phase: TaskPhase?) { state.withLock { $0.phase = phase } }

    /// The part file holds bytes of earlier runs.
    func holds(_ offset: ByteCount, of total: ByteCount?) {
        counters.setReceived(offset)
        counters.setExpected(total?.rawValue ?? -1)
        state.withLock { $0.base = offset.rawValue }
    }

    /// An answer is accepted whose first byte goes to `offset`.
    func accepted(at offset: ByteCount, canResume: Bool) {
        state.withLock { state in
            state.canResume = canResume
            state.base = offset.rawValue
            state.resumedFrom = offset > .zero ? offset.rawValue : nil
        }
    }

    /// The first byte of the source that this run sends.
    func sends(from offset: ByteCount) {
        counters.setSent(offset)
        state.withLock { state in
            state.sendBase = offset.rawValue
            state.resumedFrom = offset > .zero ? offset.rawValue : nil
        }
    }

    /// A request begins.
    func sends(canResume: Bool) { state.withLock { $0.canResume = canResume } }

    /// What it has done so far outlasts a stop.
    var canResume: Bool { state.withLock { $0.canResume } }

    /// A stop now loses bytes that have passed already.
    var losesByStop: Bool { !canResume && stopsAtOnce && (bytesTransferred > 0 || bytesUploaded > 0) }

    private var stopsAtOnce: Bool { state.withLock { $0.stage == .active } }

    /// The part was emptied, or the upload begins anew; the bytes it had still count as transferred.
    func restarted() {
        let received = counters.bytesReceived.rawValue
        let sent = counters.bytesSent.rawValue
        counters.setReceived(.zero)
        counters.setSent(.zero)
        state.withLock { state in
            state.earlier += max(0, received - state.base)
            state.base = 0
            state.sentEarlier += max(0, sent - state.sendBase)
            state.sendBase = 0
            state.resumedFrom = nil
        }
    }

    /// Body bytes that arrived in this run.
    var bytesTransferred: Int64 {
        let received = counters.bytesReceived.rawValue
        return state.withLock { $0.earlier + max(0, received - $0.base) }
    }

    /// Bytes of the source or body that this run sent.
    var bytesUploaded: Int64 {
        let sent = counters.bytesSent.rawValue
        return state.withLock { $0.sentEarlier + max(0, sent - $0.sendBase) }
    }

    /// The host gives what was asked for, though not all of it is here yet.
    func hostAnswered() {
        let isFirst = state.withLock { state in
            defer { state.hasAnswered = true }
            return !state.hasAnswered
        }
        if isFirst { tellAnswered() }
    }

    var hasAnswered: Bool { state.withLock { $0.hasAnswered } }

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

    /// Takes a sample for the rate; called twice a second.
    /// - Returns: whether the host sent bytes of late. What an upload sends may only have gone into a buffer.
    @discardableResult
    func sample(at milliseconds: Int64) -> Bool {
        let bytes = isUpload ? bytesUploaded : bytesTransferred
        let (onSample, moves) = state.withLock { state in
            state.meter.sample(bytes: bytes, at: milliseconds)
            return (state.onSample, !isUpload && state.meter.rate > 0)
        }
        onSample?()
        return moves
    }

    /// Whoever fetches in segments is called at each sample, and asked for them.
    func watch(samples: (@Sendable () -> Void)?, segments: (@Sendable () -> [SegmentFigures])?) {
        state.withLock { state in
            state.onSample = samples
            state.segments = segments
        }
    }

    /// Parts of the file that are held or being fetched; empty where there is one stream only.
    var segments: [SegmentFigures] { state.withLock { $0.segments }?() ?? [] }

    var rate: Int64 { state.withLock { $0.meter.rate } }

    func figures() -> LiveFigures {
        let received = counters.bytesReceived.rawValue
        let expected = counters.bytesExpected
        let (sent, toSend) = (counters.bytesSent.rawValue, counters.bytesToSend)
        return state.withLock { state in
            let rate = state.meter.rate
            let (whole, done) = isUpload ? (toSend, sent) : (expected, received)
            return LiveFigures(
                phase: state.phase ?? counters.phase,
                bytesReceived: received, bytesExpected: expected, rate: rate,
                eta: whole >= 0 && rate > 0 ? Double(max(0, whole - done)) / Double(rate) : nil,
                resumedFrom: state.resumedFrom, bytesSent: sent, bytesToSend: max(0, toSend))
        }
    }
}
