import DaemonSetup
import Threading
import TransferModel

/// Samples the rates of all runs twice a second while there are any. A host that sends bytes is not silent. If many
/// tasks run, their figures change once a second (`Crowd`), and are sampled as often. Each time, the runs that wait for
/// their client leave their slots.
struct RateSampler: Sendable {
    private static let many = 64

    static func interval(of runs: Int) -> Duration { runs >= many ? .seconds(1) : .milliseconds(500) }

    let runs: RunTable
    let gates: Gatekeeper
    let time: any TimeSource
    let signal: SupervisionSignal
    private let isTicking = Guarded(false)

    /// Starts sampling, because there is a run.
    func start() {
        let isFirst = isTicking.withLock { isTicking in
            defer { isTicking = true }
            return !isTicking
        }
        if isFirst { Task { await tick() } }
    }

    private func tick() async {
        while runs.count > 0, !signal.isStopped {
            let boot = time.reading().boot
            for run in runs.all where run.sample(at: boot) { gates.hostSends(run.host) }
            if runs.settleSlots(at: boot) { signal.slotsFreed() }
            try? await Task.sleep(for: Self.interval(of: runs.count))
        }
        isTicking.withLock { $0 = false }
        // A run may have begun since the last check.
        if runs.count > 0, !signal.isStopped { start() }
    }
}
