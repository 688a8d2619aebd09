import Logging
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

/// A dispatcher whose runs never end by themselves.
final class DispatcherStage: Sendable {
    let runs = RunTable()
    let started = Guarded([TaskRecord]())
    let settings = Guarded(DaemonSettings())
    /// How often whoever sleeps until the next look was called.
    let calls = Guarded(0)
    let dispatcher: Dispatcher

    init(_ fixture: SupervisionFixture, closedUntil: Timestamp? = nil) {
        let (runs, started, settings, calls, time) = (runs, started, settings, calls, fixture.time)
        dispatcher = Dispatcher(
            store: fixture.store, runs: runs, transitions: fixture.transitions, time: fixture.time,
            settings: { settings.withLock { $0 } }, logger: Logger(label: "test"),
            closedUntil: { _, _ in closedUntil },
            begin: { record, _ in
                runs.insert(TransferRun(record, startedAt: time.reading().boot, directHost: nil) {})
                started.withLock { $0.append(record) }
            },
            nextLookChanged: { calls.withLock { $0 += 1 } })
    }

    func report(
        _ report: HostGates.Report, host: String, owner: UserID = UserID(1000), task: TaskID
    ) {
        dispatcher.report(report, host: host, owner: owner, task: task, startedAt: 0)
    }

    var startedIDs: [TaskID] { started.withLock { $0.map(\.id) } }

    /// Holds the one host of `tasks` back, and starts one of them as its probe.
    func probe(_ tasks: [TaskRecord], _ fixture: SupervisionFixture) async throws -> TaskRecord {
        for task in tasks { report(.failed, host: task.host, task: TaskID(task.id.rawValue + 100)) }
        report(.failed, host: tasks[0].host, task: TaskID(200))
        fixture.time.advance(3600)
        await dispatcher.kick()
        #expect(startedIDs.count == 1)
        return try #require(started.withLock { $0.first })
    }
}
