import Testing

@testable import DaemonKit

@Suite struct QueueingReasonTests {
    @Test func oneSlotIsNotAllSlots() {
        #expect(
            QueueingReason.taken(1, "of the daemon", "setting") == "The only slot of the daemon is taken (setting).")
        #expect(QueueingReason.taken(3, "of the daemon", "setting") == "All 3 slots of the daemon are taken (setting).")
    }
}
