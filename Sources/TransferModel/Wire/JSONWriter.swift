/// Writes compact JSON text. Members come in the order in which they are written.
public struct JSONWriter {
    package private(set) var bytes: [UInt8] = []

    /// Most texts fit: growing to this size costs four copies.
    private static let room = 512

    package init() { bytes.reserveCapacity(Self.room) }

    /// Before an element or a name: a comma unless it is the first.
    mutating func separate() {
        switch bytes.last {
        case UInt8(ascii: "{"), UInt8(ascii: "["), nil: break
        default: bytes.append(UInt8(ascii: ","))
        }
    }

    mutating func append(_ text: some Collection<UInt8>) { bytes.append(contentsOf: text) }

    /// - Parameter member: a name with its quotes and the colon.
    @usableFromInline
    mutating func name(_ member: [UInt8]) {
        separate()
        bytes.append(contentsOf: member)
    }

    package mutating func name(_ name: String) {
        separate()
        string(name)
        bytes.append(UInt8(ascii: ":"))
    }

    /// A member that is left out if it is nil.
    package mutating func member(_ name: String, _ value: (some WireValue)?) {
        guard let value else { return }
        self.name(name)
        value.write(to: &self)
    }

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        members(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    package mutating func array<Elements: Sequence>(
        _ elements: Elements, _ write: (Elements.Element, inout JSONWriter) -> Void
    ) {
        bytes.append(UInt8(ascii: "["))
        for element in elements {
            separate()
            write(element, &self)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Writes members that are already text into the object that is open.
    package mutating func splice(_ members: JSONMembers) {
        let text = members.bytes
        if text.isEmpty { return }
        separate()
        bytes.append(contentsOf: text)
    }

    public mutating func null() { literal("null") }

    public mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }

    public mutating func string(_ text: String) { JSONEscape.quote(text, into: &bytes) }

    public mutating func integer(_ value: some FixedWidthInteger) {
        guard let small = Int64(exactly: value) else { return bytes.append(contentsOf: String(value).utf8) }
        bytes.append(digits: small)
    }

    /// JSON has no number that is not finite: it becomes null.
    public mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        // Positions and priorities are mostly whole numbers; finding the shortest text of a number is expensive.
        if let whole = Int64(exactly: value), whole != 0, whole.magnitude < 1 << 50 { return integer(whole) }
        var text = value.description
        if text.hasSuffix(".0") { text.removeLast(2) }
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func literal(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}

extension [UInt8] {
    /// Calls `body` with the digits of a number, and its sign if it is negative, without making a string of it.
    static func withDigits(of value: Int64, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        // The longest is that of Int64.min, with 19 digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { text in
            var (rest, first) = (value.magnitude, text.count)
            repeat {
                first -= 1
                text[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if value < 0 {
                first -= 1
                text[first] = UInt8(ascii: "-")
            }
            body(UnsafeBufferPointer(rebasing: text[first...]))
        }
    }

    /// Appends a number without making a string of it.
    mutating func append(digits value: Int64) {
        Self.withDigits(of: value) { append(contentsOf: $0) }
    }
}
