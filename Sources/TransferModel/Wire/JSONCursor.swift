/// Writes JSON into memory that has room for all of it: an array would check its room for each piece. Four events of each
/// task are written this way.
package struct JSONCursor {
    /// More than a number or a time needs, with its quotes.
    package static let roomOfNumber = 48

    /// The most bytes of a string, with its quotes: a byte may become an escape of six.
    package static func room(of text: String) -> Int {
        var text = text
        return text.withUTF8 { ($0.count) * (JSONEscape.isPlain(UnsafeRawBufferPointer($0)) ? 1 : 6) + 2 }
    }

    private let space: UnsafeMutableBufferPointer<UInt8>
    /// The bytes written so far.
    package private(set) var count = 0

    package init(_ space: UnsafeMutableBufferPointer<UInt8>) { self.space = space }

    /// Writes text as it is.
    package mutating func write(_ text: StaticString) {
        write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func write(_ text: ArraySlice<UInt8>) { text.withUnsafeBytes { write($0) } }

    package mutating func write(_ value: Int64) {
        [UInt8].withDigits(of: value) { write(UnsafeRawBufferPointer($0)) }
    }

    package mutating func write(quoting time: Timestamp) {
        guard PlainTime.written.contains(time.rawValue) else { return write(quoting: time.description) }
        write("\"")
        count += PlainTime.write(time.rawValue, to: UnsafeMutableBufferPointer(rebasing: space[count...]))
        write("\"")
    }

    package mutating func write(quoting text: String) {
        write("\"")
        var text = text
        text.withUTF8 { utf8 in
            if JSONEscape.isPlain(UnsafeRawBufferPointer(utf8)) {
                write(UnsafeRawBufferPointer(utf8))
            } else {
                var escaped: [UInt8] = []
                for byte in utf8 { JSONEscape.escape(byte, into: &escaped) }
                write(escaped[...])
            }
        }
        write("\"")
    }

    private mutating func write(_ bytes: UnsafeRawBufferPointer) {
        // Ends the process if the room is too small.
        UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(space)[count...]).copyMemory(from: bytes)
        count += bytes.count
    }
}
