import Testing

@testable import DaemonKit

@Suite struct RateSamplerTests {
    /// As often as figures change, which is once a second for many tasks.
    @Test func manyAreSampledOnceASecond() {
        #expect(RateSampler.interval(of: 1) == .milliseconds(500))
        #expect(RateSampler.interval(of: 63) == .milliseconds(500))
        #expect(RateSampler.interval(of: 64) == .seconds(1))
    }
}
