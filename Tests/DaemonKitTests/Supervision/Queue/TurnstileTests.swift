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
}
