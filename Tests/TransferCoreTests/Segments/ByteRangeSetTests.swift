import Testing
import TransferModel

@testable import TransferCore

struct ByteRangeSetTests {
    private func set(_ ranges: (Int64, Int64)...) -> ByteRangeSet { ByteRangeSet(ranges.map { range($0.0, $0.1) }) }

    @Test func neighboursAndOverlapsBecomeOne() {
        #expect(set((5, 9), (0, 3)).ranges == [range(0, 3), range(5, 9)])
        #expect(set((5, 9), (0, 3), (3, 5)).ranges == [range(0, 9)])
        #expect(set((0, 4), (2, 6), (6, 7), (20, 30), (1, 25)).ranges == [range(0, 30)])
        #expect(set((4, 4), (9, 2)).ranges.isEmpty)
    }

    @Test func saysWhatIsThereAndWhatIsMissing() {
        let held = set((0, 3), (5, 9))
        #expect(held.prefix == 3 && held.beyond == [range(5, 9)] && held.count == 7)
        #expect(held.gaps(upTo: 12) == [range(3, 5), range(9, 12)])
        #expect(held.gaps(upTo: 4) == [range(3, 4)])
        #expect(set((5, 9)).prefix == .zero && set((5, 9)).gaps(upTo: 9) == [range(0, 5)])
        #expect(ByteRangeSet().gaps(upTo: 2) == [range(0, 2)] && ByteRangeSet().gaps(upTo: 0).isEmpty)
    }

    @Test func coversOnlyWhatHasNoGap() {
        #expect(set((0, 9)).covers(9) && set((0, 9)).covers(0) && ByteRangeSet().covers(0))
        #expect(!set((0, 9)).covers(10) && !set((0, 4), (5, 9)).covers(9) && !set((1, 9)).covers(9))
    }

    @Test func agreesWithASetOfBytes() {
        var generator = SeededGenerator(state: 11)
        for _ in 0..<200 {
            var (ranges, bytes) = (ByteRangeSet(), Set<Int64>())
            for _ in 0..<12 {
                let start = Int64.random(in: 0..<40, using: &generator)
                let end = start + Int64.random(in: 0..<8, using: &generator)
                ranges.insert(range(start, end))
                bytes.formUnion(start..<end)
            }
            #expect(Set(ranges.ranges.flatMap { $0.start.rawValue..<$0.end.rawValue }) == bytes)
            #expect(ranges.count == ByteCount(Int64(bytes.count)))
            #expect(zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.end < $1.start })
            let missing = ranges.gaps(upTo: 40).flatMap { $0.start.rawValue..<$0.end.rawValue }
            #expect(Set(missing) == Set(0..<40).subtracting(bytes))
        }
    }
}

func range(_ start: Int64, _ end: Int64) -> ByteRange { ByteRange(ByteCount(start), ByteCount(end)) }
