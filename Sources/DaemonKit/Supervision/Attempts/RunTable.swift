import Threading
import TransferCore
import TransferModel

/// All existing runs by task, and which of them hold a slot.
///
/// A finished run gives its slot back before the commit of its end is durable, so that the next claim shares that
/// commit. The run stays in the table until it has stopped completely.
final class RunTable: Sendable {
    /// The most runs that may wait without a slot for the commit of their end. If the store hangs, they must not pile
    /// up.
    static let mostPendingEnds = 256

    /// The most runs of one user that may be without their slots because they wait for their client. Each keeps a
    /// connection.
    static let mostWithoutSlot = 64

    private struct State {
        var holding: [TaskID: TransferRun] = [:]
        /// Runs whose attempt is over: only the commit of their end is outstanding.
        var ending: [TaskID: TransferRun] = [:]
    }

    /// Prevents tasks from becoming runs for a while.
    let claims = ClaimGate()
    private let runs = Guarded(State())
    /// What ended runs received and sent.
    private let finished = Guarded((received: Int64(0), sent: Int64(0)))

    /// Called when the first run begins and when the last one has stopped.
    private let changesUse: @Sendable () -> Void

    init(changesUse: @escaping @Sendable () -> Void = {}) { self.changesUse = changesUse }

    subscript(id: TaskID) -> TransferRun? { runs.withLock { $0.holding[id] ?? $0.ending[id] } }
    var all: [TransferRun] { runs.withLock { Array($0.holding.values) + $0.ending.values } }
    var count: Int { runs.withLock { $0.holding.count + $0.ending.count } }

    /// The runs that hold a slot, or left it until their client lets them continue.
    var withSlot: [TransferRun] { runs.withLock { Array($0.holding.values) } }
    /// The runs whose end is not committed yet.
    var pendingEnds: [TransferRun] { runs.withLock { Array($0.ending.values) } }

    func insert(_ run: TransferRun) {
        let isFirst = runs.withLock { state in
            state.holding[run.task] = run
            return state.holding.count + state.ending.count == 1
        }
        if isFirst { changesUse() }
    }

    /// Lets runs that only wait for their client leave their slots, and runs that continue take them back.
    /// - Parameter boot: milliseconds of the boot clock.
    /// - Returns: whether a slot became free.
    func settleSlots(at boot: Int64) -> Bool {
        let runs = withSlot
        var left: [UserID: Int] = [:]
        for run in runs where run.hold == .left {
            if run.waitsForClient(at: boot) {
                left[run.session.owner, default: 0] += 1
            } else {
                run.set(hold: .returned)
            }
        }
        var isFreed = false
        for run in runs where run.hold != .left && run.waitsForClient(at: boot) {
            guard left[run.session.owner, default: 0] < Self.mostWithoutSlot else { continue }
            left[run.session.owner, default: 0] += 1
            run.set(hold: .left)
            isFreed = true
        }
        return isFreed
    }

    /// Notes that the attempt is over, and only the commit of its end is outstanding.
    /// - Returns: whether a slot became free; false if too many ends are outstanding: then `remove` frees it.
    func freeSlot(of run: TransferRun) -> Bool {
        runs.withLock { state in
            guard state.holding[run.task] === run, state.ending.count < Self.mostPendingEnds else { return false }
            state.holding[run.task] = nil
            state.ending[run.task] = run
            return true
        }
    }

    /// - Returns: whether a slot became free.
    @discardableResult
    func remove(_ run: TransferRun) -> Bool {
        finished.withLock { sums in
            sums.received += run.bytesTransferred
            sums.sent += run.bytesUploaded
        }
        let (freesSlot, isLast) = runs.withLock { state in
            if state.ending[run.task] === run { state.ending[run.task] = nil }
            let freesSlot = state.holding[run.task] === run
            if freesSlot { state.holding[run.task] = nil }
            return (freesSlot, state.holding.isEmpty && state.ending.isEmpty)
        }
        if isLast { changesUse() }
        return freesSlot
    }

    /// The current rates, and the body bytes since the daemon started.
    var throughput: Throughput {
        let (active, sums) = (all, finished.withLock { $0 })
        var result = Throughput(bytesReceived: sums.received, bytesSent: sums.sent)
        for run in active {
            result.bytesReceived += run.bytesTransferred
            result.bytesSent += run.bytesUploaded
            switch run.kind {
            case .download, .data: result.downloadRate += run.rate
            case .upload: result.uploadRate += run.rate
            }
        }
        return result
    }
}
