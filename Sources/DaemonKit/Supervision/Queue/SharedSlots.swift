import DaemonSetup
import Threading
import TransferCore

/// What all supervisions of one engine share: the slots, the gates of hosts and the signal that wakes them.
package final class SharedSlots: Sendable {
    let signal = SupervisionSignal()
    let gates: Gatekeeper
    let scheduling: SchedulingPolicy
    let hosts = HostConnections()
    /// Only one dispatcher fills slots at a time. Otherwise two could take the same free slot.
    let rounds = Turnstile(width: 1)
    private let tables = Guarded<[RunTable]>([])
    private let told = Guarded(false)
    private let transfersRun: @Sendable (Bool) -> Void

    /// - Parameter transfersRun: told whether transfers run, when that changes and when settings change. It must neither
    ///   wait nor call back.
    package init(
        time: any TimeSource = SystemTime(), scheduling: SchedulingPolicy = SchedulingPolicy(),
        transfersRun: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.scheduling = scheduling
        self.transfersRun = transfersRun
        gates = Gatekeeper(policy: scheduling, time: time, signal: signal)
    }

    /// Makes the table of another supervision's runs.
    func makeTable() -> RunTable {
        let table = RunTable { [weak self] in self?.tellWhetherTransfersRun() }
        tables.withLock { $0.append(table) }
        return table
    }

    /// - Parameter anew: tells it although it has not changed.
    func tellWhetherTransfersRun(anew: Bool = false) {
        told.withLock { told in
            let now = tables.withLock { $0 }.contains { $0.count > 0 }
            guard anew || now != told else { return }
            told = now
            transfersRun(now)
        }
    }

    /// All runs, in any supervision, that hold a slot or left it until their client lets them continue.
    var holders: [TransferRun] { gathered(\.withSlot) }

    /// How many runs left their slots, or took them back and may exceed the limits. For checks.
    package var withoutSlot: Int { holders.count { $0.hold != .held } }

    /// All runs whose end is not committed yet.
    var pendingEnds: [TransferRun] { gathered(\.pendingEnds) }

    private func gathered(_ runs: (RunTable) -> [TransferRun]) -> [TransferRun] {
        let tables = tables.withLock { $0 }
        return tables.count == 1 ? runs(tables[0]) : tables.flatMap(runs)
    }
}
