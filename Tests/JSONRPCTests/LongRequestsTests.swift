import Testing

@testable import JSONRPC

struct LongRequestsTests {
    @Test func oneOfEachUserIsAnsweredAtATime() {
        let long = Room(limit: 3, limitsRoot: false)
        #expect(long.take(1, of: 1000))
        #expect(long.take(1, of: 1000), "it has the room")
        #expect(!long.take(2, of: 1000))
        #expect(long.take(3, of: 1001))
        #expect(long.release(3) == nil, "the one that waits is of a user who has one")
        #expect(long.release(1) == 2)
        #expect(long.take(2, of: 1000))
    }

    @Test func theyComeInOrderAndLeaveRoomForOthers() {
        let long = Room(limit: 2, limitsRoot: false)
        #expect(long.take(1, of: 1000))
        #expect(long.take(2, of: 1001))
        #expect(!long.take(3, of: 1000))
        #expect(!long.take(4, of: 1002))
        #expect(!long.take(5, of: 1003))
        #expect(long.release(2) == 4, "the first whose user has none")
        #expect(long.release(1) == 3)
        #expect(long.release(4) == 5)
    }

    @Test func whoeverLeavesGivesUpItsPlace() {
        let long = Room(limit: 1, limitsRoot: false)
        #expect(long.take(1, of: 1000))
        #expect(!long.take(2, of: 1001))
        #expect(!long.take(2, of: 1001))
        #expect(!long.take(3, of: 1002))
        #expect(long.release(2) == nil)
        #expect(long.release(1) == 3)
        #expect(long.release(3) == nil)
    }

    @Test func rootIsHeldToWhatAllHave() {
        let long = Room(limit: 2, limitsRoot: false)
        #expect(long.take(1, of: 0))
        #expect(long.take(2, of: 0))
        #expect(!long.take(3, of: 0))
        let strict = Room(limit: 2, limitsRoot: true)
        #expect(strict.take(1, of: 0))
        #expect(!strict.take(2, of: 0))
    }
}

/// `LongRequests` in a form that expectations can call.
private final class Room {
    private var long: LongRequests

    init(limit: Int, limitsRoot: Bool) { long = LongRequests(limit: limit, limitsRoot: limitsRoot) }

    func take(_ connection: Int, of uid: UInt32) -> Bool { long.take(connection, of: uid) }
    func release(_ connection: Int) -> Int? { long.release(connection) }
}
