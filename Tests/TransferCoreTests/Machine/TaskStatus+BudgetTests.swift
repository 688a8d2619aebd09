import Testing
import TransferModel

@testable import TransferCore

struct TaskStatusBudgetTests {
    @Test func standsWithoutAMark() {
        var status = TaskStatus(state: .paused, createdAt: reading().wall)
        status.budgetUsed = 12
        #expect(status.budgetUsed(at: reading(99)) == 12)
        #expect(status.budgetLeft(of: 50, at: reading(99)) == nil)
    }

    @Test func leftIsNeverNegative() {
        var status = TaskStatus(state: .running, createdAt: reading().wall)
        status.budgetMark = reading(0).boot
        #expect(status.budgetLeft(of: 50, at: reading(20)) == 30)
        #expect(status.budgetLeft(of: 50, at: reading(90)) == 0)
    }

    @Test func startingTwiceKeepsTheFirstMark() {
        var status = TaskStatus(state: .queued, createdAt: reading().wall)
        status.startBudget(at: reading(1))
        status.startBudget(at: reading(5))
        status.stopBudget(at: reading(11))
        #expect(status.budgetUsed == 10)
        #expect(status.budgetMark == nil)
    }
}
