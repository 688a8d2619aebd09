import Testing
import Threading

@testable import DaemonKit

struct FootprintTests {
    @Test func manyBurstsAreFollowedByOneTrim() async throws {
        let trims = Guarded(0)
        let footprint = Footprint { trims.withLock { $0 += 1 } }
        // Small calls add up to bursts.
        for _ in 0..<50 * Footprint.burst { footprint.note(events: 1) }
        let deadline = ContinuousClock.now + .seconds(120)
        while trims.withLock({ $0 }) == 0, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(trims.withLock { $0 } == 1)
        // The next burst is noticed too.
        footprint.note(events: Footprint.burst)
        while trims.withLock({ $0 }) == 1, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(trims.withLock { $0 } == 2)
    }

    @Test func codeComesBackAfterItWasForgotten() {
        for _ in 0..<3 { Footprint.shrink() }
        #expect((1...100).map { String($0) }.joined().count == 192)
    }
}
