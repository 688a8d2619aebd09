import Testing
import TransferCore
import TransferModel

@testable import DaemonKit

@Suite struct RunTableTests {
    private let table = RunTable()

    private func run(_ id: Int64) -> TransferRun {
        let status = TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0))
        let record = TaskRecord(
            id: TaskID(id), session: .shared(of: UserID(0)), spec: TaskSpec(), status: status, host: "h", position: 0)
        let run = TransferRun(record, directHost: "h") { _ in }
        table.insert(run)
        return run
    }

    @Test func aRunWithoutASlotStaysUntilItHasStopped() {
        let (ending, other) = (run(1), run(2))
        #expect(table.freeSlot(of: ending))
        #expect(table.withSlot.map(\.task) == [other.task])
        #expect(table.pendingEnds.map(\.task) == [ending.task])
        #expect(table[ending.task] === ending)
        #expect(Set(table.all.map(\.task)) == [ending.task, other.task])
        #expect(table.count == 2)
        table.remove(ending)
        #expect(table[ending.task] == nil)
        #expect(table.count == 1)
    }

    /// Those that wait for a free slot are told only once.
    @Test func aSlotIsFreedOnce() {
        let (early, late) = (run(1), run(2))
        #expect(table.freeSlot(of: early))
        #expect(!table.freeSlot(of: early))
        #expect(!table.remove(early))
        #expect(table.remove(late))
        #expect(!table.remove(late))
        #expect(!table.freeSlot(of: late))
    }

    /// A run that its client has to make go on leaves its slot until it goes on.
    @Test func whoWaitsForItsClientLeavesItsSlot() {
        let (waiting, other) = (run(1), run(2))
        #expect(!table.settleSlots(at: 0))
        waiting.set(phase: .deciding)
        #expect(table.settleSlots(at: 0))
        #expect(waiting.hold == .left && other.hold == .held)
        #expect(!table.settleSlots(at: 0))
        waiting.set(phase: nil)
        #expect(!table.settleSlots(at: 0))
        #expect(waiting.hold == .returned)
        waiting.set(phase: .deciding)
        #expect(table.settleSlots(at: 0) && waiting.hold == .left)
    }

    /// One user's runs cannot keep any number of connections.
    @Test func soManyOfOneUserLeaveTheirSlots() {
        let runs = (0...RunTable.mostWithoutSlot).map { run(Int64($0)) }
        for run in runs { run.set(phase: .deciding) }
        for _ in 0..<2 {
            _ = table.settleSlots(at: 0)
            #expect(runs.count { $0.hold == .left } == RunTable.mostWithoutSlot)
        }
        // Another may when one goes on; those that left stay where they are.
        let left = runs.filter { $0.hold == .left }
        left[0].set(phase: nil)
        #expect(table.settleSlots(at: 0))
        #expect(left[0].hold == .returned && left.dropFirst().allSatisfy { $0.hold == .left })
        #expect(runs.count { $0.hold == .left } == RunTable.mostWithoutSlot)
    }

    /// For a store that hangs.
    @Test func soManyEndsMayBePending() {
        let ends = (0..<RunTable.mostPendingEnds).map { run(Int64($0)) }
        for end in ends { #expect(table.freeSlot(of: end)) }
        let next = run(1000)
        #expect(!table.freeSlot(of: next))
        #expect(table.withSlot.map(\.task) == [next.task])
        table.remove(ends[0])
        #expect(table.freeSlot(of: next))
    }
}
