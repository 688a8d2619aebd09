/// A range of bytes in a file, from `start` up to but not including `end`.
public struct ByteRange: Hashable, Sendable, Codable {
    public var start: ByteCount
    public var end: ByteCount

    public init(_ start: ByteCount, _ end: ByteCount) {
        self.start = start
        self.end = end
    }

    public var count: ByteCount { end - start }
    public var isEmpty: Bool { end <= start }
}
