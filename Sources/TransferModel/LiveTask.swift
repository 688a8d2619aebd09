import TransferModel

/// One part of a download that is fetched, or was fetched, in parallel with others.
public struct SegmentView: WireObject, Hashable {
    public var start: ByteCount
    /// Exclusive.
    public var end: ByteCount
    public var received: ByteCount
    public var active: Bool
    public var url: String?

    public init(_ range: ByteRange, received: ByteCount, active: Bool, url: String? = nil) {
        start = range.start
        end = range.end
        self.received = received
        self.active = active
        self.url = url
    }

    /// The parts that a stored task holds; empty if it holds only the beginning of the file.
    static func held(_ checkpoint: Checkpoint?) -> [SegmentView] {
        guard let checkpoint, !checkpoint.ranges.isEmpty else { return [] }
        let ranges = [ByteRange(.zero, checkpoint.offset)] + checkpoint.ranges
        return ranges.filter { !$0.isEmpty }.map { SegmentView($0, received: $0.count, active: false) }
    }

    public static let shape = Shape("Segment", Self(ByteRange(0, 0), received: 0, active: false)) { row in
        row("start", \.start, "Its first byte.")
        row("end", \.end, "The byte after its last.")
        row("received", \.received, "Bytes written, from its start on.")
        row("active", \.active, "Whether a connection is fetching it.")
        row("url", \.url, "The mirror it is fetched from, if there are several.")
    }
}
