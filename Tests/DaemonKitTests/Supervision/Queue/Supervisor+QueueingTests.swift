import Testing

@testable import DaemonKit

@Suite struct SupervisorQueueingTests {
    @Test func oneSlotIsNotAllSlots() {
        #expect(Supervisor.taken(1, "of the daemon", "setting") == "The only slot of the daemon is taken (setting).")
        #expect(Supervisor.taken(3, "of the daemon", "setting") == "All 3 slots of the daemon are taken (setting).")
    }
}
