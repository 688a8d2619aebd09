import Testing
import TransferModel

@testable import TransferCore

struct SlotTurnsTests {
    private func key(_ owner: UInt32, _ name: String = "s") -> SessionKey {
        SessionKey(owner: UserID(owner), identifier: name)
    }

    @Test func whoHasTheFewestIsFirstAndThenWhoWaitedLongest() {
        var turns = SlotTurns()
        turns.served(key(3))
        turns.served(key(2))
        #expect(turns.order([key(1), key(2), key(3)], running: []) == [key(1), key(3), key(2)])
        #expect(turns.order([key(1), key(2), key(3)], running: [key(1), key(1), key(3)]) == [key(2), key(3), key(1)])
    }

    @Test func sessionsOfOneOwnerTakeTurnsToo() {
        var turns = SlotTurns()
        turns.served(key(1, "a"))
        let (a, b) = (key(1, "a"), key(1, "b"))
        #expect(turns.order([a, b], running: []) == [b, a])
        #expect(turns.order([a, b], running: [b]) == [a, b])
    }

    @Test func anOwnerOfManySessionsIsOneOwner() {
        let many = (0..<50).map { key(1, "s\($0)") }
        let order = SlotTurns().order(many + [key(2)], running: [])
        #expect(order.prefix(2).contains(key(2)))
        #expect(order.count == 51)
    }

    @Test func itsMemoryIsBounded() {
        var turns = SlotTurns()
        for owner in 0..<(3 * UInt32(SlotTurns.remembered)) { turns.served(key(owner)) }
        #expect(turns.lastServed(key(0)) == 0 && turns.lastServed(UserID(0)) == 0)
        #expect(turns.lastServed(UserID(3 * UInt32(SlotTurns.remembered) - 1)) > 0)
    }
}
