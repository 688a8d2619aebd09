import DaemonSetup
import Logging
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

/// A dispatcher whose runs never end by themselves.
final class DispatcherStage: Sendable {
    let runs: RunTable
    let started = Guarded([TaskRecord]())
    let settings = Guarded(DaemonSettings())
    let gates: Gatekeeper
    private let times: SupervisionSignal.Listener
    private let queue: SupervisionSignal.Listener
    let dispatcher: Dispatcher

    init(_ fixture: SupervisionFixture, closedUntil: Timestamp? = nil, machine: MachineState? = nil) {
        let (started, settings, time) = (started, settings, fixture.time)
        let slots = SharedSlots(time: time)
        let runs = slots.makeTable()
        self.runs = runs
        gates = slots.gates
        times = slots.signal.listen(to: .times)
        queue = slots.signal.listen(to: .queue)
        dispatcher = Dispatcher(
            store: fixture.store, runs: runs, slots: slots, transitions: fixture.transitions, time: time,
            settings: { settings.withLock { $0 } }, logger: Logger(label: "test"),
            closedUntil: { _, _ in closedUntil }, machine: machine,
            begin: { claims in
                for claim in claims {
                    runs.insert(TransferRun(claim.task, startedAt: time.reading().boot, directHost: nil) { _ in })
                    started.withLock { $0.append(claim.task) }
                }
            })
    }

    func report(
        _ report: HostGates.Report, host: String, owner: UserID = UserID(1000), task: TaskID
    ) {
        gates.report(report, host: host, owner: owner, task: task, startedAt: 0)
    }

    /// Tells whether the alarms were told another next look since the last call.
    var hasNewLook: Bool { times.take()?.contains(.times) ?? false }

    /// Tells whether the dispatcher was told since the last call that other tasks may run.
    var isQueueChanged: Bool { queue.take()?.contains(.queue) ?? false }

    var startedIDs: [TaskID] { started.withLock { $0.map(\.id) } }

    /// Makes the host of `tasks` held, and starts one of them as its probe.
    func probe(_ tasks: [TaskRecord], _ fixture: SupervisionFixture) async throws -> TaskRecord {
        for task in tasks { report(.failed, host: task.host, task: TaskID(task.id.rawValue + 100)) }
        report(.failed, host: tasks[0].host, task: TaskID(200))
        fixture.time.advance(3600)
        await dispatcher.fillSlots()
        #expect(startedIDs.count == 1)
        return try #require(started.withLock { $0.first })
    }
}
