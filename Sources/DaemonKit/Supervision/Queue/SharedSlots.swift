import Threading
import TransferCore

/// What all supervisions of one engine share: the slots, the gates of hosts and the signal that wakes them.
package final class SharedSlots: Sendable {
    let signal = SupervisionSignal()
    let gates: Gatekeeper
    let scheduling: SchedulingPolicy
    let hosts = HostConnections()
    /// One dispatcher at a time fills slots: two that saw the same free slot would both take it.
    let rounds = Turnstile(width: 1)
    private let tables = Guarded<[RunTable]>([])

    package init(time: any TimeSource = SystemTime(), scheduling: SchedulingPolicy = SchedulingPolicy()) {
        self.scheduling = scheduling
        gates = Gatekeeper(policy: scheduling, time: time, signal: signal)
    }

    /// The runs of one more supervision.
    func makeTable() -> RunTable {
        let table = RunTable()
        tables.withLock { $0.append(table) }
        return table
    }

    /// Everything that holds a slot, whoever supervises it.
    var runs: [TransferRun] {
        let tables = tables.withLock { $0 }
        return tables.count == 1 ? tables[0].all : tables.flatMap(\.all)
    }
}
