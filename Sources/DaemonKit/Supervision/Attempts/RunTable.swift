import Threading
import TransferModel

/// The runs that exist now, by task.
final class RunTable: Sendable {
    /// Tasks that must not become runs just now.
    let claims = ClaimGate()
    private let runs = Guarded([TaskID: TransferRun]())
    /// What runs that ended received and sent.
    private let finished = Guarded((received: Int64(0), sent: Int64(0)))

    subscript(id: TaskID) -> TransferRun? { runs.withLock { $0[id] } }
    var all: [TransferRun] { runs.withLock { Array($0.values) } }
    var count: Int { runs.withLock { $0.count } }

    func insert(_ run: TransferRun) { runs.withLock { $0[run.task] = run } }

    func remove(_ run: TransferRun) {
        finished.withLock { sums in
            sums.received += run.bytesTransferred
            sums.sent += run.bytesUploaded
        }
        runs.withLock { table in
            if table[run.task] === run { table[run.task] = nil }
        }
    }

    /// Rates of now, and body bytes since the daemon started.
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
