/// The values of one JSON text (RFC 8259) in the order in which they occur, found in one pass without recursion.
///
/// Everything that reads JSON reads from it: `JSONNode` is one of its values.
package final class JSONTape: Sendable {
    package enum Kind: UInt8, Sendable {
        case null, yes, no, number, string, array, object
    }

    /// One value. A member of an object is two entries: its name, a string, and its value.
    struct Entry: Sendable {
        /// First byte; of a string, the byte after the opening quote.
        var start: UInt32
        /// After the last byte; of a string, its closing quote.
        var end: UInt32
        /// The entry after this value and everything in it.
        var next: UInt32
        /// Number of members or elements; of a string or a number, 0 if its bytes need no conversion.
        var count: UInt32
        var kind: Kind
    }

    /// Why a text is not JSON, and the first byte that is not allowed there.
    package struct Invalid: Error, Equatable {
        package var reason: String
        package var offset: Int
    }

    /// The deepest nesting that is accepted: what walks a tape may be recursive.
    package static let depthLimit = 64

    package let bytes: [UInt8]
    let entries: [Entry]
    /// Members that a type does not know are ignored.
    let isLenient: Bool

    /// - Throws: `Invalid` if `bytes` is not exactly one JSON value. Whether it is UTF-8 shows when its strings are read.
    package init(_ bytes: [UInt8], lenient: Bool = false) throws(Invalid) {
        guard bytes.count < UInt32.max / 2 else { throw Invalid(reason: "it is too long", offset: 0) }
        let scanned: Result<[Entry], Invalid> = bytes.withUnsafeBufferPointer { buffer in
            var scanner = TapeScanner(buffer)
            do throws(Invalid) {
                try scanner.scan()
                return .success(scanner.entries)
            } catch {
                return .failure(error)
            }
        }
        self.bytes = bytes
        entries = try scanned.get()
        isLenient = lenient
    }

    package var root: JSONNode { JSONNode(tape: self, index: 0) }

    /// The bytes of an entry; of a string, without its quotes.
    func slice(_ entry: Entry) -> ArraySlice<UInt8> { bytes[Int(entry.start)..<Int(entry.end)] }
}

/// The scanner behind `JSONTape`: iterative, so that no text can exhaust the stack.
private struct TapeScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    var entries: [JSONTape.Entry] = []
    /// Entries of the brackets that are open.
    private var open: [Int] = []

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func scan() throws(JSONTape.Invalid) {
        entries.reserveCapacity(bytes.count / 12 + 1)
        try value()
        while let bracket = open.last { try member(of: bracket) }
        skipSpace()
        guard position == bytes.count else { throw invalid("something follows the value") }
    }

    /// Reads the next member or element of an open bracket, or the closing bracket.
    private mutating func member(of bracket: Int) throws(JSONTape.Invalid) {
        let isObject = entries[bracket].kind == .object
        skipSpace()
        guard position < bytes.count else { throw endsEarly }
        if bytes[position] == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            position += 1
            entries[bracket].end = UInt32(position)
            entries[bracket].next = UInt32(entries.count)
            open.removeLast()
            return
        }
        if entries[bracket].count > 0 {
            guard take(UInt8(ascii: ",")) else { throw invalid("a comma or the closing bracket is expected") }
            skipSpace()
        }
        entries[bracket].count += 1
        guard isObject else { return try value() }
        guard position < bytes.count else { throw endsEarly }
        guard bytes[position] == UInt8(ascii: "\"") else { throw invalid("a member's name is expected") }
        try string()
        skipSpace()
        guard position < bytes.count else { throw endsEarly }
        guard take(UInt8(ascii: ":")) else { throw invalid("a colon is expected") }
        try value()
    }

    private mutating func value() throws(JSONTape.Invalid) {
        skipSpace()
        guard position < bytes.count else { throw endsEarly }
        switch bytes[position] {
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "{"): try bracket(.object)
        case UInt8(ascii: "["): try bracket(.array)
        case UInt8(ascii: "t"): try literal("true", .yes)
        case UInt8(ascii: "f"): try literal("false", .no)
        case UInt8(ascii: "n"): try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default: throw invalid("a value is expected")
        }
    }

    private mutating func bracket(_ kind: JSONTape.Kind) throws(JSONTape.Invalid) {
        guard open.count < JSONTape.depthLimit else {
            throw invalid("brackets are nested deeper than \(JSONTape.depthLimit)")
        }
        open.append(entries.count)
        append(kind, from: position, to: position)
        position += 1
    }

    private mutating func append(_ kind: JSONTape.Kind, from start: Int, to end: Int, count: UInt32 = 0) {
        entries.append(
            JSONTape.Entry(
                start: UInt32(start), end: UInt32(end), next: UInt32(entries.count + 1), count: count, kind: kind))
    }

    private mutating func string() throws(JSONTape.Invalid) {
        position += 1
        let start = position
        var isPlain: UInt32 = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return append(.string, from: start, to: position - 1, count: isPlain)
            case UInt8(ascii: "\\"):
                isPlain = 1
                try escape()
            case 0..<0x20: throw invalid("a control character stands in a string", at: position - 1)
            default: break
            }
        }
        throw invalid("a string does not end")
    }

    private mutating func escape() throws(JSONTape.Invalid) {
        guard position < bytes.count else { throw invalid("a string does not end") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"):
            for offset in 0..<4 {
                guard position + offset < bytes.count, JSONEscape.digit(bytes[position + offset]) != nil else {
                    throw invalid("\\u needs four hexadecimal digits")
                }
            }
            position += 4
        default: throw invalid("there is no such escape", at: position - 1)
        }
    }

    private mutating func literal(_ text: StaticString, _ kind: JSONTape.Kind) throws(JSONTape.Invalid) {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count, (0..<count).allSatisfy({ bytes[position + $0] == text.utf8Start[$0] })
        else { throw invalid("a value is expected") }
        append(kind, from: position, to: position + count)
        position += count
    }

    private mutating func number() throws(JSONTape.Invalid) {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let isZero = position < bytes.count && bytes[position] == UInt8(ascii: "0")
        let count = digits()
        guard count > 0, !isZero || count == 1 else { throw invalid("a number is malformed") }
        var isFraction: UInt32 = 0
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isFraction = 1
            position += 1
            guard digits() > 0 else { throw invalid("a number is malformed") }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isFraction = 1
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard digits() > 0 else { throw invalid("a number is malformed") }
        }
        append(.number, from: start, to: position, count: isFraction)
    }

    private mutating func digits() -> Int {
        let first = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        return position - first
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private var endsEarly: JSONTape.Invalid { invalid("it ends in the middle of a value") }

    private func invalid(_ reason: String, at place: Int? = nil) -> JSONTape.Invalid {
        JSONTape.Invalid(reason: reason, offset: place ?? position)
    }
}
