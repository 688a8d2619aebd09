import TestSupport
import Testing

@testable import CurlEngine

@Suite struct SegmentBoundTests {
    @Test func whatIsClaimedStays() {
        let bound = SegmentBound(start: 0, end: 10_000_000)
        #expect(bound.claim(100) == 100 + SegmentBound.lookahead)
        #expect(bound.shrink(to: 50) == 100 + SegmentBound.lookahead)
        #expect(bound.shrink(to: 9_000_000) == 100 + SegmentBound.lookahead, "an end only goes down")
        #expect(bound.position == bound.end)
    }

    @Test func theEndIsNeverPassed() {
        let bound = SegmentBound(start: 0, end: 1000)
        #expect(bound.claim(600) == 1000)
        #expect(!bound.isOver(at: 999) && bound.isOver(at: 1000))
        let other = SegmentBound(start: 0, end: 1000)
        #expect(other.claim(1001) == 1000)
        #expect(!other.extend(to: 2000), "the exchange has dropped what came after")
    }

    @Test func anEndMovesUpOnlyWhileSomebodyReads() {
        let bound = SegmentBound(start: 0, end: 1000)
        #expect(bound.extend(to: 2000) && bound.claim(1500) == 2000)
        bound.close()
        #expect(!bound.extend(to: 3000) && bound.shrink(to: 1) == 2000)
        let over = SegmentBound(start: 0, end: 1000)
        #expect(over.isOver(at: 1000) && !over.extend(to: 2000))
    }

    /// One side takes bytes while the other moves the end. The bytes that were taken lie before the end that both sides
    /// see.
    @Test func bothSidesAgreeWhateverTheOrder() async throws {
        for round in 0..<50 {
            let bound = SegmentBound(start: 0, end: 100 << 20)
            async let taken = Threads.run { () -> Int64 in
                var (offset, limit) = (Int64(0), Int64(0))
                while true {
                    let wanted = offset + 16_384
                    if wanted > limit { limit = bound.claim(wanted) }
                    if limit < wanted { return limit }
                    offset = wanted
                    if offset >= limit, bound.isOver(at: offset) { return offset }
                }
            }
            async let end = Threads.run { () -> Int64 in
                var end = bound.end
                for step in 0..<20 { end = bound.shrink(to: Int64((90 - step * 4 - round % 3) << 20)) }
                return end
            }
            let (reached, agreed) = try await (taken, end)
            #expect(reached == agreed)
        }
    }
}
