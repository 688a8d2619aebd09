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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case start, end, received, active, url
    }

    public static let wireName = "Segment"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .start: .required(.byteCount, "Its first byte.")
        case .end: .required(.byteCount, "The byte after its last.")
        case .received: .required(.byteCount, "Bytes written, from its start on.")
        case .active: .required(.boolean, "Whether a connection is fetching it.")
        case .url: .optional(.string, "The mirror it is fetched from, if there are several.")
        }
    }
}
