import Threading
import TransferModel

/// The runs that exist now, by task.
final class RunTable: Sendable {
    /// Tasks that must not become runs just now.
    let claims = ClaimGate()
    private let runs = Guarded([TaskID: TransferRun]())
    private let finishedBytes = Guarded<Int64>(0)

    subscript(id: TaskID) -> TransferRun? { runs.withLock { $0[id] } }
    var all: [TransferRun] { runs.withLock { Array($0.values) } }
    var count: Int { runs.withLock { $0.count } }

    func insert(_ run: TransferRun) { runs.withLock { $0[run.task] = run } }

    func remove(_ run: TransferRun) {
        finishedBytes.withLock { $0 += run.bytesTransferred }
        runs.withLock { table in
            if table[run.task] === run { table[run.task] = nil }
        }
    }

    /// Body bytes since the daemon started.
    var totalBytes: Int64 {
        all.reduce(finishedBytes.withLock { $0 }) { $0 + $1.bytesTransferred }
    }
}
