import TransferModel

/// The held bytes of a file, as the fewest ranges that describe them: in order, not empty, with gaps between them.
package struct ByteRangeSet: Sendable, Hashable {
    package private(set) var ranges: [ByteRange] = []

    package init(_ ranges: [ByteRange] = []) {
        for range in ranges { insert(range) }
    }

    /// The durable ranges of a checkpoint.
    package init(_ checkpoint: Checkpoint) {
        self.init([ByteRange(.zero, checkpoint.offset)] + checkpoint.ranges)
    }

    package var count: ByteCount { ranges.reduce(.zero) { $0 + $1.count } }
    /// Everything before this offset is held.
    package var prefix: ByteCount { ranges.first.flatMap { $0.start == .zero ? $0.end : nil } ?? .zero }
    /// The held ranges beyond the prefix.
    package var beyond: [ByteRange] { Array(ranges.drop { $0.start == .zero }) }

    package mutating func insert(_ range: ByteRange) {
        guard !range.isEmpty else { return }
        // The existing ranges that `range` touches.
        let first = ranges.firstIndex { $0.end >= range.start } ?? ranges.count
        let last = ranges[first...].firstIndex { $0.start > range.end } ?? ranges.count
        let touched = ranges[first..<last]
        let merged = ByteRange(
            min(range.start, touched.first?.start ?? range.start), max(range.end, touched.last?.end ?? range.end))
        ranges.replaceSubrange(first..<last, with: [merged])
    }

    /// The missing ranges of the first `total` bytes, in order.
    package func gaps(upTo total: ByteCount) -> [ByteRange] {
        var gaps: [ByteRange] = []
        var next = ByteCount.zero
        for range in ranges where range.start < total {
            if range.start > next { gaps.append(ByteRange(next, range.start)) }
            next = max(next, range.end)
        }
        if next < total { gaps.append(ByteRange(next, total)) }
        return gaps
    }

    package func covers(_ total: ByteCount) -> Bool { prefix >= total }
}
