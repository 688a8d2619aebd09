/// The values of one JSON text in the order in which they occur, found in one pass. Decoders read from it.
///
/// It accepts RFC 8259 and nothing else. A slower decoder judges and explains the texts that it does not accept.
final class JSONTape: Sendable {
    enum Kind: UInt8, Sendable {
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

    let bytes: [UInt8]
    let entries: [Entry]

    /// nil if `bytes` is not one JSON value, or nested deeper than 64.
    init?(_ bytes: [UInt8]) {
        guard bytes.count < UInt32.max / 2 else { return nil }
        let entries = bytes.withUnsafeBufferPointer { buffer in
            var scanner = TapeScanner(buffer)
            return scanner.scan() ? scanner.entries : nil
        }
        guard let entries else { return nil }
        self.bytes = bytes
        self.entries = entries
    }

    /// The bytes of an entry.
    func slice(_ entry: Entry) -> ArraySlice<UInt8> { bytes[Int(entry.start)..<Int(entry.end)] }

    /// Path of a value: names and indices from the root on.
    func path(to target: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var holder = 0
        while let (key, value) = child(of: holder, holding: target) {
            path.append(key)
            holder = value
        }
        return path
    }

    /// The member or element of `holder` that is or contains `target`.
    private func child(of holder: Int, holding target: Int) -> (key: AnyKey, value: Int)? {
        let isObject = entries[holder].kind == .object
        guard isObject || entries[holder].kind == .array else { return nil }
        var (index, place) = (holder + 1, 0)
        while index < Int(entries[holder].next) {
            let value = isObject ? index + 1 : index
            let next = Int(entries[value].next)
            if (value..<next).contains(target) {
                guard isObject else { return (AnyKey(intValue: place), value) }
                return (AnyKey(stringValue: String(decoding: slice(entries[index]), as: UTF8.self)), value)
            }
            index = next
            place += 1
        }
        return nil
    }
}

/// The scanner behind `JSONTape`: iterative, so that no text can exhaust the stack.
private struct TapeScanner {
    static let depthLimit = 64

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    var entries: [JSONTape.Entry] = []
    /// Entries of the brackets that are open.
    private var open: [Int] = []

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func scan() -> Bool {
        entries.reserveCapacity(bytes.count / 12 + 1)
        guard value() else { return false }
        while let bracket = open.last {
            guard member(of: bracket) else { return false }
        }
        skipSpace()
        return position == bytes.count
    }

    /// Reads the next member or element of an open bracket, or the closing bracket.
    private mutating func member(of bracket: Int) -> Bool {
        let isObject = entries[bracket].kind == .object
        skipSpace()
        guard position < bytes.count else { return false }
        if bytes[position] == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            position += 1
            entries[bracket].end = UInt32(position)
            entries[bracket].next = UInt32(entries.count)
            open.removeLast()
            return true
        }
        if entries[bracket].count > 0 {
            guard take(UInt8(ascii: ",")) else { return false }
            skipSpace()
        }
        entries[bracket].count += 1
        guard isObject else { return value() }
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\""), string() else { return false }
        skipSpace()
        return take(UInt8(ascii: ":")) && value()
    }

    private mutating func value() -> Bool {
        skipSpace()
        guard position < bytes.count else { return false }
        switch bytes[position] {
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "{"): return bracket(.object)
        case UInt8(ascii: "["): return bracket(.array)
        case UInt8(ascii: "t"): return literal("true", .yes)
        case UInt8(ascii: "f"): return literal("false", .no)
        case UInt8(ascii: "n"): return literal("null", .null)
        default: return number()
        }
    }

    private mutating func bracket(_ kind: JSONTape.Kind) -> Bool {
        guard open.count < Self.depthLimit else { return false }
        open.append(entries.count)
        append(kind, from: position, to: position)
        position += 1
        return true
    }

    private mutating func append(_ kind: JSONTape.Kind, from start: Int, to end: Int, count: UInt32 = 0) {
        entries.append(
            JSONTape.Entry(
                start: UInt32(start), end: UInt32(end), next: UInt32(entries.count + 1), count: count, kind: kind))
    }

    private mutating func string() -> Bool {
        position += 1
        let start = position
        var isPlain: UInt32 = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                append(.string, from: start, to: position - 1, count: isPlain)
                return true
            case UInt8(ascii: "\\"):
                isPlain = 1
                guard escape() else { return false }
            case 0..<0x20: return false
            default: break
            }
        }
        return false
    }

    private mutating func escape() -> Bool {
        guard position < bytes.count else { return false }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return true
        case UInt8(ascii: "u"):
            guard position + 4 <= bytes.count else { return false }
            for offset in 0..<4 where JSONEscape.digit(bytes[position + offset]) == nil { return false }
            position += 4
            return true
        default: return false
        }
    }

    private mutating func literal(_ text: StaticString, _ kind: JSONTape.Kind) -> Bool {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count else { return false }
        for offset in 0..<count where bytes[position + offset] != text.utf8Start[offset] { return false }
        append(kind, from: position, to: position + count)
        position += count
        return true
    }

    private mutating func number() -> Bool {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let isZero = position < bytes.count && bytes[position] == UInt8(ascii: "0")
        let count = digits()
        guard count > 0, !isZero || count == 1 else { return false }
        var isFraction: UInt32 = 0
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isFraction = 1
            position += 1
            guard digits() > 0 else { return false }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isFraction = 1
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard digits() > 0 else { return false }
        }
        append(.number, from: start, to: position, count: isFraction)
        return true
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
}
