import Testing
import Threading

@testable import DaemonKit

@Suite struct TurnstileTests {
    @Test func thoseBeyondItsWidthAreCalledInOrderAsOthersLeave() {
        let turnstile = Turnstile(width: 2)
        let called = Guarded<[Int]>([])
        for number in 0..<5 { turnstile.enter { called.withLock { $0.append(number) } } }
        #expect(called.withLock { $0 } == [0, 1])
        turnstile.leave()
        #expect(called.withLock { $0 } == [0, 1, 2])
        turnstile.leave()
        turnstile.leave()
        #expect(called.withLock { $0 } == [0, 1, 2, 3, 4])
        for _ in 0..<2 { turnstile.leave() }
        for number in 5..<8 { turnstile.enter { called.withLock { $0.append(number) } } }
        #expect(called.withLock { $0 } == [0, 1, 2, 3, 4, 5, 6])
    }

    /// A long line of callers that no longer want to pass uses no more of the stack than one caller.
    @Test func thoseThatDoNotWantToPassAreSkipped() {
        let turnstile = Turnstile(width: 1)
        let called = Guarded(0)
        turnstile.enter {}
        for _ in 0..<100_000 {
            turnstile.enter(ifWanted: {
                called.withLock { $0 += 1 }
                return false
            })
        }
        turnstile.enter { called.withLock { $0 += 1_000_000 } }
        turnstile.leave()
        #expect(called.withLock { $0 } == 1_100_000)
        turnstile.leave()
        turnstile.enter(ifWanted: { false })
        turnstile.enter { called.withLock { $0 = 1 } }
        #expect(called.withLock { $0 } == 1)
    }
}
