import Testing

@testable import JSONRPC

struct ConnectionRegistryTests {
    private func registry() -> ConnectionRegistry {
        var limits = RPCLimits()
        limits.unfinishedLines = 100
        limits.unfinishedLinesPerUser = 40
        return ConnectionRegistry(limits: limits)
    }

    @Test func oneUserLeavesRoomForLongLinesOfOthers() {
        let registry = registry()
        #expect(registry.borrow(40, for: 1000))
        #expect(!registry.borrow(1, for: 1000))
        #expect(registry.borrow(40, for: 1001))
        registry.repay(10, of: 1000)
        #expect(registry.borrow(10, for: 1000))
        #expect(!registry.borrow(1, for: 1000))
        #expect(!registry.borrow(40, for: 1002), "what all have together ends")
        #expect(registry.borrow(20, for: 1002))
    }

    @Test func rootIsHeldToWhatAllHave() {
        let registry = registry()
        #expect(registry.borrow(90, for: 0))
        #expect(!registry.borrow(11, for: 0))
        registry.repay(90, of: 0)
        #expect(registry.borrow(100, for: 0))
    }

    @Test func whatWaitsForAUsersClientsIsCounted() {
        var limits = RPCLimits()
        limits.outgoingPerUser = 10
        let registry = ConnectionRegistry(limits: limits)
        for uid: UInt32 in [0, 1000] { registry.owe(11, to: uid) }
        #expect(registry.owesMuch(to: 1000) && !registry.owesTooMuch(to: 1000))
        registry.owe(10, to: 1000)
        #expect(registry.owesTooMuch(to: 1000))
        #expect(!registry.owesMuch(to: 1001))
        #expect(!registry.owesMuch(to: 0), "root is exempt")
        registry.owe(-11, to: 1000)
        #expect(!registry.owesMuch(to: 1000))
    }

    /// What a thread has appended may have been sent before the thread counts it.
    @Test func theOrderOfCountsDoesNotMatter() {
        var limits = RPCLimits()
        limits.outgoingPerUser = 10
        let registry = ConnectionRegistry(limits: limits)
        registry.owe(-20, to: 1000)
        registry.owe(20, to: 1000)
        #expect(!registry.owesMuch(to: 1000))
    }

    @Test func aUserWithManyConnectionsLeavesSomeToOthersAndToRoot() {
        // With 32 places, 2 are root's.
        #expect(ConnectionRegistry.hasRoom(for: 29, of: 29, limit: 32), "nobody else is there")
        #expect(!ConnectionRegistry.hasRoom(for: 30, of: 30, limit: 32), "the rest is root's")
        #expect(ConnectionRegistry.hasRoom(for: 5, of: 25, limit: 32))
        #expect(!ConnectionRegistry.hasRoom(for: 6, of: 25, limit: 32))
        #expect(ConnectionRegistry.hasRoom(for: 0, of: 29, limit: 32))
    }
}
