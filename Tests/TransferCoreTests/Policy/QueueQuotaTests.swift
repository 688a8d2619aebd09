import Testing
import TransferModel

@testable import TransferCore

@Suite struct QueueQuotaTests {
    @Test func roomIsTakenWholeOrNotAtAll() throws {
        var quota = QueueQuota(limit: 5, unfinished: 2)
        try quota.reserve(2)
        let error = #expect(throws: TransferError.self) { try quota.reserve(2) }
        #expect(error?.code == .limitReached)
        #expect(error?.details["setting"] == "maximumQueuedTasksPerUser")
        #expect(error?.details["unfinished"] == 4)
        try quota.reserve(1)
        #expect(throws: TransferError.self) { try quota.reserve(1) }
        try quota.reserve(0)
    }

    /// An owner that had more tasks when the limit was lowered can add none, and nothing overflows.
    @Test func aLoweredLimitLeavesNoRoom() throws {
        var quota = QueueQuota(limit: 1, unfinished: 1_000_000)
        #expect(throws: TransferError.self) { try quota.reserve(1) }
        #expect(throws: TransferError.self) { try quota.reserve(.max) }
    }
}
