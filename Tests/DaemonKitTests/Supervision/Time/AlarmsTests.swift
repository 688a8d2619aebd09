import Dispatch
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import DaemonKit
@testable import FileKit

/// Timed work with a real clock and a disk that does not answer.
@Suite struct AlarmsTests {
    @Test(.timeLimit(.minutes(1)))
    func aDiskThatDoesNotAnswerHoldsUpNoTime() async throws {
        let (fixture, home) = (try SupervisionFixture(), try ConfigurationFixture())
        let pool = BlockingPool(width: 1)
        let gate = DispatchSemaphore(value: 0)
        // Checks of the disks wait behind it.
        let hung = Task { await pool.run { gate.wait() } }
        let supervision = try fixture.supervision(in: home, pool: pool)
        let tasks = try await fixture.add(hosts: ["h", "h"])
        let soon = fixture.time.reading().wall.advanced(by: 1)
        _ = try await fixture.apply(.blocked(.disk, nil, nextAttemptAt: soon.advanced(by: 3600)), to: tasks[0].id)
        _ = try await fixture.apply(.blocked(.retry, nil, nextAttemptAt: soon), to: tasks[1].id)
        func state(_ task: TaskRecord) async -> TaskState? {
            try? await fixture.store.read { try $0.task(task.id) }?.status.state
        }
        try await supervision.start()
        #expect(await state(tasks[1]) == .waiting)
        fixture.time.advance(2)
        supervision.slots.signal.changed()
        #expect(await eventually { await state(tasks[1]) != .waiting })
        #expect(await state(tasks[0]) == .waiting)
        gate.signal()
        await hung.value
        await supervision.stop()
    }
}
