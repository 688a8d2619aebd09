/// Checks that bytes are one JSON value of limited depth (RFC 8259), without recursion, and locates the members of its
/// outermost object or array.
///
/// Decoders are recursive. Therefore a line of 100,000 brackets must be refused before a decoder sees it.
package struct JSONStructure: Sendable {
    package enum Root: Sendable, Equatable {
        case object([Member])
        case array([Range<Int>])
        case scalar
    }

    package struct Member: Sendable, Equatable {
        /// Includes its quotation marks.
        package var name: Range<Int>
        package var value: Range<Int>
    }

    package struct Invalid: Error, Equatable {
        package var reason: String
        package var offset: Int
    }

    /// The deepest nesting that is accepted.
    package static let depthLimit = 64

    package var root: Root
    /// The value without the white space around it.
    package var range: Range<Int>

    /// - Throws: `Invalid` with the offset of the first byte that is not allowed there.
    package init(_ bytes: [UInt8], in range: Range<Int>? = nil) throws(Invalid) {
        let parsed: Result<(Root, Range<Int>), Invalid> = bytes.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer, range ?? 0..<buffer.count)
            do throws(Invalid) {
                return .success(try scanner.scan())
            } catch {
                return .failure(error)
            }
        }
        (root, self.range) = try parsed.get()
    }
}

/// The iterative scanner behind `JSONStructure`.
struct JSONScanner {
    /// What the innermost open bracket expects next.
    private enum Expecting {
        case firstValue, value, firstName, name, colon, memberValue, commaOrEnd, end
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private let end: Int
    private var position: Int
    /// One entry for each open bracket: true for an object.
    private var open: [Bool] = []
    private var expecting = Expecting.value
    private var start = 0
    private var members: [JSONStructure.Member] = []
    private var elements: [Range<Int>] = []
    private var name = 0..<0
    private var valueStart = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    mutating func scan() throws(JSONStructure.Invalid) -> (JSONStructure.Root, Range<Int>) {
        skipSpace()
        start = position
        let first = position < end ? bytes[position] : 0
        while expecting != .end {
            skipSpace()
            guard position < end else { throw invalid("it ends in the middle of a value") }
            try step(bytes[position])
        }
        let whole = start..<position
        skipSpace()
        guard position == end else { throw invalid("something follows the value") }
        switch first {
        case UInt8(ascii: "{"): return (.object(members), whole)
        case UInt8(ascii: "["): return (.array(elements), whole)
        default: return (.scalar, whole)
        }
    }

    private mutating func step(_ byte: UInt8) throws(JSONStructure.Invalid) {
        switch expecting {
        case .firstValue where byte == UInt8(ascii: "]"), .firstName where byte == UInt8(ascii: "}"):
            try close(byte)
        case .firstValue, .value, .memberValue: try beginValue(byte)
        case .firstName, .name:
            guard byte == UInt8(ascii: "\"") else { throw invalid("a member's name is expected") }
            let start = position
            try string()
            if open.count == 1 { name = start..<position }
            expecting = .colon
        case .colon:
            guard byte == UInt8(ascii: ":") else { throw invalid("a colon is expected") }
            position += 1
            expecting = .memberValue
        case .commaOrEnd:
            if byte == UInt8(ascii: ",") {
                position += 1
                expecting = open.last == true ? .name : .value
            } else {
                try close(byte)
            }
        case .end: break
        }
    }

    private mutating func beginValue(_ byte: UInt8) throws(JSONStructure.Invalid) {
        if open.count == 1 { valueStart = position }
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard open.count < JSONStructure.depthLimit else {
                throw invalid("brackets are nested deeper than \(JSONStructure.depthLimit)")
            }
            open.append(byte == UInt8(ascii: "{"))
            position += 1
            expecting = byte == UInt8(ascii: "{") ? .firstName : .firstValue
            return
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default: throw invalid("a value is expected")
        }
        endValue()
    }

    private mutating func close(_ byte: UInt8) throws(JSONStructure.Invalid) {
        guard let isObject = open.last, byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            throw invalid("a comma or the closing bracket is expected")
        }
        open.removeLast()
        position += 1
        endValue()
    }

    private mutating func endValue() {
        switch open.count {
        case 0: expecting = .end
        case 1:
            let value = valueStart..<position
            if open[0] {
                members.append(JSONStructure.Member(name: name, value: value))
            } else {
                elements.append(value)
            }
            expecting = .commaOrEnd
        default: expecting = .commaOrEnd
        }
    }

    private mutating func string() throws(JSONStructure.Invalid) {
        position += 1
        while position < end {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw invalid("a control character stands in a string")
            default: break
            }
        }
        throw invalid("a string does not end")
    }

    private mutating func escape() throws(JSONStructure.Invalid) {
        guard position < end else { throw invalid("a string does not end") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"):
            guard position + 4 <= end, bytes[position..<position + 4].allSatisfy(Self.isHexadecimal) else {
                throw invalid("\\u needs four hexadecimal digits")
            }
            position += 4
        default: throw invalid("there is no such escape")
        }
    }

    private mutating func literal(_ text: StaticString) throws(JSONStructure.Invalid) {
        let count = text.utf8CodeUnitCount
        guard position + count <= end,
            (0..<count).allSatisfy({ bytes[position + $0] == text.utf8Start[$0] })
        else { throw invalid("a value is expected") }
        position += count
    }

    private mutating func number() throws(JSONStructure.Invalid) {
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let isZero = position < end && bytes[position] == UInt8(ascii: "0")
        let count = digits()
        guard count > 0, !isZero || count == 1 else { throw invalid("a number is malformed") }
        if position < end, bytes[position] == UInt8(ascii: ".") {
            position += 1
            guard digits() > 0 else { throw invalid("a number is malformed") }
        }
        if position < end, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < end, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard digits() > 0 else { throw invalid("a number is malformed") }
        }
    }

    private mutating func digits() -> Int {
        let first = position
        while position < end, Self.isDigit(bytes[position]) { position += 1 }
        return position - first
    }

    private mutating func skipSpace() {
        while position < end {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private func invalid(_ reason: String) -> JSONStructure.Invalid {
        JSONStructure.Invalid(reason: reason, offset: position)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
