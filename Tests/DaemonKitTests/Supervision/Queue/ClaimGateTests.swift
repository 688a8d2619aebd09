import Testing
import Threading
import TransferModel

@testable import DaemonKit

@Suite struct ClaimGateTests {
    private let ids = [TaskID(1), TaskID(2), TaskID(3)]

    @Test func whatIsHeldIsNotClaimed() async {
        let gate = ClaimGate()
        await gate.hold([ids[1]])
        #expect(gate.enter(ids) == [ids[0], ids[2]])
        gate.release([ids[1]])
        #expect(gate.enter([ids[1]]) == [ids[1]])
    }

    @Test func severalMayHoldATask() async {
        let gate = ClaimGate()
        await gate.hold([ids[0]])
        await gate.hold([ids[0]])
        gate.release([ids[0]])
        #expect(gate.enter([ids[0]]).isEmpty)
        gate.release([ids[0]])
        #expect(gate.enter([ids[0]]) == [ids[0]])
    }

    @Test func whoHoldsWaitsForAClaimThatHasBegun() async throws {
        let gate = ClaimGate()
        #expect(gate.enter([ids[0], ids[1]]) == [ids[0], ids[1]])
        let order = Guarded([String]())
        let holder = Task { [ids] in
            await gate.hold(ids)
            order.withLock { $0.append("held") }
        }
        // The hold has taken effect, and still waits.
        let limit = ContinuousClock.now + .seconds(30)
        while !gate.enter([ids[2]]).isEmpty, ContinuousClock.now < limit {
            gate.leave([ids[2]])
            await Task.yield()
        }
        gate.leave([ids[0]])
        order.withLock { $0.append("one run began") }
        gate.leave([ids[1]])
        await holder.value
        #expect(order.withLock { $0 } == ["one run began", "held"])
    }
}
