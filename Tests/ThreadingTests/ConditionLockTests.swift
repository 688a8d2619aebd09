import Glibc
import Testing

@testable import Threading

@Suite struct ConditionLockTests {
    @Test func aWaiterIsAskedAgainAfterEachSignal() {
        let count = ConditionLock(0)
        let started = NamedThread.start("test") {
            for _ in 0..<100 {
                count.withLock { $0 += 1 }
                count.broadcast()
            }
        }
        #expect(started)
        #expect(count.wait { $0 == 100 ? $0 : nil } == 100)
    }

    @Test func aWaitThatNothingAnswersEnds() {
        let lock = ConditionLock(7)
        var asked = 0
        let result: Int? = lock.wait(milliseconds: 1) { _ in
            asked += 1
            return nil
        }
        #expect(result == nil)
        #expect(asked >= 1)
        #expect(lock.wait(milliseconds: 1) { $0 } == 7, "a condition that holds needs no wait")
    }
}
