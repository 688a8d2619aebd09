import Testing
import TransferModel

@testable import TransferCore

struct RetryPolicyTests {
    private func spec(_ attempts: Int? = nil, _ first: Seconds? = nil, _ longest: Seconds? = nil) -> RetryPolicySpec {
        var spec = RetryPolicySpec()
        spec.attempts = attempts
        spec.firstDelay = first
        spec.longestDelay = longest
        return spec
    }

    @Test func ceilingsDoubleFromOneSecondToTenMinutes() {
        let policy = RetryPolicy()
        let ceilings = (1...12).map { policy.ceiling(failuresInRow: $0).rawValue }
        #expect(ceilings == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600])
        #expect(policy.ceiling(failuresInRow: .max) == 600)
    }

    @Test func jitterSpreadsOverTheWholeCeiling() {
        let policy = RetryPolicy()
        #expect(policy.delay(failuresInRow: 4, jitter: 0) == 0)
        #expect(policy.delay(failuresInRow: 4, jitter: 0.5) == 4)
        #expect(policy.delay(failuresInRow: 4, jitter: 0.999) < 8)
    }

    @Test func membersAreInheritedOneByOne() {
        let policy = RetryPolicy(spec(3), inherited: spec(9, 2, 60))
        #expect(policy.attempts == 3)
        #expect(policy.firstDelay == 2)
        #expect(policy.longestDelay == 60)
    }

    @Test func nonsenseIsTamed() {
        let policy = RetryPolicy(spec(-1, 100, 5))
        #expect(policy.attempts == 0)
        #expect(policy.longestDelay == 100)
        #expect(RetryPolicy(spec(0, 0, 0)).ceiling(failuresInRow: 50) == 0)
    }
}
