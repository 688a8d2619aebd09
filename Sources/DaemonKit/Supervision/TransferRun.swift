import CurlEngine
import TransferCore
import TransferModel

/// One running task as the rest of the daemon sees it: its figures, and the way to stop it.
///
/// A run stays in the `RunTable` until it has wound down, so that no task is ever run twice at once.
final class TransferRun: Sendable {
    enum Stage: Sendable { case active, committing, ended }

    private struct State {
        var stage = Stage.active
        /// What happens to the task once the run has stopped, should it still be `running` then.
        var abort: TaskEvent?
        var phase: TaskPhase?
        var resumedFrom: Int64?
        var meter = RateMeter()
        var work: Task<Void, Never>?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let task: TaskID
    let session: SessionKey
    let host: String
    let priority: Double
    let position: Double
    let counters: TransferCounters
    private let state = Guarded(State())

    init(_ record: TaskRecord) {
        task = record.id
        session = record.session
        host = record.host
        priority = record.spec.priority?.value ?? TaskPriority.normal.value
        position = record.position
        counters = TransferCounters()
    }

    func start(_ body: @escaping @Sendable () async -> Void) {
        let work = Task { await body() }
        state.withLock { state in
            state.work = work
            if state.abort != nil, state.stage == .active { work.cancel() }
        }
    }

    /// Asks the run to stop reading. A run that is already delivering its file is left to finish.
    func requestAbort(_ event: TaskEvent = .preempted) {
        let work = state.withLock { state -> Task<Void, Never>? in
            guard state.stage == .active else { return nil }
            if state.abort == nil { state.abort = event }
            return state.work
        }
        work?.cancel()
    }

    /// From here to the end nothing stops the run. False where a stop was asked for before.
    func enterCommit() -> Bool {
        state.withLock { state in
            guard state.stage == .active, state.abort == nil else { return false }
            state.stage = .committing
            return true
        }
    }

    var isAborting: Bool { state.withLock { $0.abort != nil } }
    var abortEvent: TaskEvent? { state.withLock { $0.abort } }
    var isCommitting: Bool { state.withLock { $0.stage == .committing } }

    func ended() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.stage = .ended
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the run has wound down.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let over = state.withLock { state -> Bool in
                if state.stage == .ended { return true }
                state.waiters.append(continuation)
                return false
            }
            if over { continuation.resume() }
        }
    }

    func set(phase: TaskPhase?) { state.withLock { $0.phase = phase } }
    func set(resumedFrom offset: ByteCount?) { state.withLock { $0.resumedFrom = offset?.rawValue } }

    /// Takes a sample for the rate; called about once a second.
    func sample(at milliseconds: Int64) {
        let bytes = counters.bytesTransferred
        state.withLock { $0.meter.sample(bytes: bytes, at: milliseconds) }
    }

    var rate: Int64 { state.withLock { $0.meter.rate } }

    func figures() -> LiveFigures {
        let received = counters.bytesReceived
        let expected = counters.bytesExpected
        return state.withLock { state in
            let rate = state.meter.rate
            let left = expected - received
            return LiveFigures(
                phase: state.phase ?? (counters.isTransferring ? .transferring : .connecting),
                bytesReceived: received, bytesExpected: expected, rate: rate,
                eta: expected >= 0 && rate > 0 ? Double(max(0, left)) / Double(rate) : nil,
                resumedFrom: state.resumedFrom)
        }
    }
}

/// Bytes per second over the last few samples, smoothed so that a bar does not flicker.
struct RateMeter: Sendable {
    private var samples: [(time: Int64, bytes: Int64)] = []
    private(set) var rate: Int64 = 0

    /// - Parameters:
    ///   - bytes: body bytes since the run began.
    ///   - at: a monotonic clock, in milliseconds.
    mutating func sample(bytes: Int64, at time: Int64) {
        if let last = samples.last, bytes < last.bytes || time < last.time { samples.removeAll() }
        samples.append((time, bytes))
        samples.removeAll { time - $0.time > Self.window && $0.time != time }
        guard let first = samples.first, time > first.time else { return }
        rate = (bytes - first.bytes) * 1000 / (time - first.time)
    }

    private static let window: Int64 = 3000
}

/// The runs that exist now, by task.
final class RunTable: Sendable {
    private let runs = Guarded([TaskID: TransferRun]())
    private let finishedBytes = Guarded<Int64>(0)

    subscript(id: TaskID) -> TransferRun? { runs.withLock { $0[id] } }
    var all: [TransferRun] { runs.withLock { Array($0.values) } }
    var count: Int { runs.withLock { $0.count } }

    func insert(_ run: TransferRun) { runs.withLock { $0[run.task] = run } }

    func remove(_ run: TransferRun) {
        finishedBytes.withLock { $0 += run.counters.bytesTransferred }
        runs.withLock { table in
            if table[run.task] === run { table[run.task] = nil }
        }
    }

    /// Body bytes since the daemon started.
    var totalBytes: Int64 {
        all.reduce(finishedBytes.withLock { $0 }) { $0 + $1.counters.bytesTransferred }
    }
}
