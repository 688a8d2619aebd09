import NIOCore

/// Splits a byte stream into lines at LF and refuses lines above a limit. It examines no byte twice.
package struct LineFramer {
    package enum Piece: Equatable {
        /// Without its LF.
        case line([UInt8])
        /// A line is longer than the limit. Nothing follows.
        case overlong
    }

    /// The longest line in bytes, without the LF.
    package let limit: Int
    private var buffer = ByteBuffer()
    private var searched = 0
    private var isOver = false

    package init(limit: Int) { self.limit = limit }

    /// The bytes held of an unfinished line.
    package var heldBytes: Int { buffer.readableBytes }

    package mutating func append(_ bytes: ByteBuffer) {
        guard !isOver else { return }
        if buffer.readableBytes == 0 {
            buffer = bytes
            searched = 0
        } else {
            buffer.writeImmutableBuffer(bytes)
        }
    }

    package mutating func next() -> Piece? {
        guard !isOver else { return nil }
        let view = buffer.readableBytesView
        let from = view.index(view.startIndex, offsetBy: searched)
        guard let end = view[from...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = buffer.readableBytes
            return searched > limit ? giveUp() : nil
        }
        let length = view.distance(from: view.startIndex, to: end)
        guard length <= limit else { return giveUp() }
        let line = buffer.readBytes(length: length) ?? []
        buffer.moveReaderIndex(forwardBy: 1)
        searched = 0
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
        return .line(line)
    }

    private mutating func giveUp() -> Piece {
        isOver = true
        buffer = ByteBuffer()
        return .overlong
    }
}
