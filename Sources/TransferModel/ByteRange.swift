/// A range of bytes in a file, from `start` up to but not including `end`.
public struct ByteRange: Hashable, Sendable {
    public var start: ByteCount
    public var end: ByteCount

    public init(_ start: ByteCount, _ end: ByteCount) {
        self.start = start
        self.end = end
    }

    public var count: ByteCount { end - start }
    public var isEmpty: Bool { end <= start }
}

extension ByteRange: WireObject {
    public static let shape = Shape("ByteRange", Self(0, 0)) { row in
        row("start", \.start)
        row("end", \.end)
    }
}
