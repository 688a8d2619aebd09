import Testing
import TransferModel

@testable import DaemonKit

@Suite struct SegmentBoundsTests {
    @Test func planAndEngineSeeTheSameEnd() throws {
        let bounds = SegmentBounds()
        bounds.add(3, ByteRange(100, 9_000_000))
        #expect(bounds.position(of: 3) == 100)
        #expect(bounds.shrink(3, to: 5_000_000) == 5_000_000)
        #expect(try #require(bounds[3]).end == 5_000_000)
        #expect(bounds.extend(3, to: 6_000_000) && bounds[3]?.end == 6_000_000)
    }

    @Test func oneThatIsOverDoesNotMove() {
        let bounds = SegmentBounds()
        bounds.add(1, ByteRange(0, 10))
        bounds.remove(1)
        #expect(bounds.isOver(1))
        #expect(!bounds.extend(1, to: 20) && bounds.shrink(1, to: 5) == 5)
    }
}
