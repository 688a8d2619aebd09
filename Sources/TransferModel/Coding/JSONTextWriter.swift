/// Writes one value as JSON text while it encodes itself.
///
/// Nothing here calls foreign code while a member is being changed, so exclusivity checks are off: checking each
/// appended byte (`swift_beginAccess`) was a tenth of the cost of a page of a listing.
final class JSONTextWriter {
    @exclusivity(unchecked) private(set) var bytes: [UInt8] = []
    /// The value asked for something that this writer does not support; the text written so far does not count.
    @exclusivity(unchecked) private(set) var isUnusual = false
    /// The shape that each value being encoded has turned out to have.
    @exclusivity(unchecked) private var levels: [Level] = []

    private struct Level {
        var shape = Shape.nothing
        var isEmpty = true
    }

    private enum Shape {
        case nothing, scalar, array, object
    }

    /// Most texts fit: growing to this size costs four copies.
    private static let room = 512

    init() { bytes.reserveCapacity(Self.room) }

    func write<T: Encodable>(_ value: T) throws {
        if T.self == String.self, let text = value as? String { return string(text) }
        if T.self == HeaderField.self, let field = value as? HeaderField {
            return try json([.string(field.name), .string(field.value)])
        }
        if T.self == JSONValue.self, let value = value as? JSONValue { return try json(value) }
        if T.self == [String: JSONValue].self, let members = value as? [String: JSONValue] { return try json(members) }
        let start = bytes.count
        levels.append(Level())
        try value.encode(to: JSONTextEncoder(writer: self))
        switch levels.removeLast().shape {
        case .nothing: if bytes.count == start { literal("{}") }
        case .scalar: break
        case .array: bytes.append(UInt8(ascii: "]"))
        case .object: bytes.append(UInt8(ascii: "}"))
        }
    }

    /// The same text as the value would write by encoding itself, at a quarter of the cost.
    private func json(_ value: JSONValue) throws {
        switch value {
        case .null: literal("null")
        case .bool(let value): bool(value)
        case .integer(let value): integer(value)
        case .number(let value): try double(value)
        case .string(let value): string(value)
        case .array(let elements):
            literal("[")
            for (index, element) in elements.enumerated() {
                if index > 0 { literal(",") }
                try json(element)
            }
            literal("]")
        case .object(let members): try json(members)
        }
    }

    private func json(_ members: [String: JSONValue]) throws {
        literal("{")
        if members.count == 1, let member = members.first {
            try json(member, isFirst: true)
        } else {
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                try json(member, isFirst: index == 0)
            }
        }
        literal("}")
    }

    private func json(_ member: (key: String, value: JSONValue), isFirst: Bool) throws {
        if !isFirst { literal(",") }
        string(member.key)
        literal(":")
        try json(member.value)
    }

    /// The value at `depth` is an object; later calls mean the same object.
    func openObject(at depth: Int) { open(.object, UInt8(ascii: "{"), at: depth) }

    func openArray(at depth: Int) { open(.array, UInt8(ascii: "["), at: depth) }

    var depth: Int { levels.count }

    private func open(_ shape: Shape, _ bracket: UInt8, at depth: Int) {
        guard depth == levels.count, let level = levels.last else { return refuse() }
        switch level.shape {
        case .nothing:
            levels[depth - 1].shape = shape
            bytes.append(bracket)
        case .scalar, .array, .object: if level.shape != shape { refuse() }
        }
    }

    /// Moves to the next element of the array at `depth`.
    func element(at depth: Int) {
        guard depth == levels.count else { return refuse() }
        if !levels[depth - 1].isEmpty { bytes.append(UInt8(ascii: ",")) }
        levels[depth - 1].isEmpty = false
    }

    func name(_ name: String, at depth: Int) {
        element(at: depth)
        JSONEscape.quote(name, into: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Writes members that are already text into the object at `depth`.
    func splice(_ members: JSONMembers, at depth: Int) {
        let bytes = members.bytes
        if bytes.isEmpty { return }
        element(at: depth)
        self.bytes.append(contentsOf: bytes)
    }

    /// Writes an object that is already text, after its name.
    func object(_ members: JSONMembers) { bytes.append(contentsOf: members.object) }

    /// The value at `depth` is a single value.
    func scalar(at depth: Int) {
        guard depth == levels.count, levels.last?.shape == .nothing else { return refuse() }
        levels[depth - 1].shape = .scalar
    }

    func refuse() { isUnusual = true }

    func string(_ text: String) { JSONEscape.quote(text, into: &bytes) }

    /// Header fields as pairs of name and value.
    func fields(_ fields: [HeaderField]) {
        bytes.append(UInt8(ascii: "["))
        var isFirst = true
        for field in fields {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            bytes.append(UInt8(ascii: "["))
            string(field.name)
            bytes.append(UInt8(ascii: ","))
            string(field.value)
            bytes.append(UInt8(ascii: "]"))
        }
        bytes.append(UInt8(ascii: "]"))
    }

    func literal(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    func bool(_ value: Bool) { literal(value ? "true" : "false") }

    func integer(_ value: some FixedWidthInteger) { bytes.append(contentsOf: String(value).utf8) }

    func double(_ value: Double) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(
                value, EncodingError.Context(codingPath: [], debugDescription: "JSON has no number \(value)."))
        }
        // Positions and priorities are mostly whole numbers; finding the shortest text of a number is expensive.
        if let whole = Int64(exactly: value), whole != 0, whole.magnitude < 1 << 50 { return integer(whole) }
        var text = value.description
        if text.hasSuffix(".0") { text.removeLast(2) }
        bytes.append(contentsOf: text.utf8)
    }
}
