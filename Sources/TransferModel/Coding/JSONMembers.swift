/// Members of a JSON object in their text form, to be passed on without being decoded. The specs on a page of a listing
/// are sent as they were stored, and subscribers get the text of an event that the store keeps.
public struct JSONMembers: Sendable, Hashable {
    /// The object's text.
    private var text: [UInt8]

    /// One member's value.
    package struct MemberValue {
        fileprivate let tape: JSONTape
        fileprivate let index: Int

        /// Its text; for a string, the text between the quotes.
        package var text: ArraySlice<UInt8> { tape.slice(tape.entries[index]) }

        package var integer: Int64? { Int64(String(decoding: text, as: UTF8.self)) }

        /// Whether it is a list of lists that each begin with a string without escapes, and `holds` is true for all
        /// these strings.
        package func beginnings(_ holds: (ArraySlice<UInt8>) -> Bool) -> Bool {
            let entries = tape.entries
            guard entries[index].kind == .array else { return false }
            var pair = index + 1
            while pair < Int(entries[index].next) {
                guard entries[pair].kind == .array, entries[pair].count > 0 else { return false }
                let first = entries[pair + 1]
                guard first.kind == .string, first.count == 0, holds(tape.slice(first)) else { return false }
                pair = Int(entries[pair].next)
            }
            return true
        }
    }

    /// - Parameter mayPass: whether a member may be sent.
    /// - Returns: nil if `text` is not exactly one object, or if a member may not pass, is not in `names`, occurs twice
    ///   or has its name written with escapes.
    package init?<Key>(of text: [UInt8], names: JSONNames<Key>, where mayPass: (Key, MemberValue) -> Bool) {
        guard text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}"), let tape = JSONTape(text) else {
            return nil
        }
        let entries = tape.entries
        var index = 1
        var seen: UInt64 = 0
        while index < entries.count {
            guard entries[index].count == 0, let place = names.place(of: tape.slice(entries[index])), place < 64,
                seen & 1 << UInt64(place) == 0, mayPass(names.keys[place], MemberValue(tape: tape, index: index + 1))
            else { return nil }
            seen |= 1 << UInt64(place)
            index = Int(entries[index + 1].next)
        }
        self.text = text
    }

    /// The text between the braces.
    var bytes: ArraySlice<UInt8> { text[1..<text.count - 1] }

    /// With the braces.
    package var object: [UInt8] { text }

    public var isEmpty: Bool { text.count == Self.none.count }

    private static let none = Array("{}".utf8)

    /// The object itself, for encoders that do not take its text.
    package func value<T: Decodable>(_: T.Type = T.self) throws -> T { try JSONCoding.decode(T.self, from: text) }
}

// MARK: - Writing

extension JSONMembers: ExpressibleByDictionaryLiteral {
    /// No members yet.
    public init() { text = Self.none }

    /// No members yet, with room for this many bytes of them.
    package init(room: Int) {
        text = []
        text.reserveCapacity(room + Self.none.count)
        text += Self.none
    }

    /// - Parameter object: text of an object, compact.
    package init(object: [UInt8]) { text = object }

    /// In the order of their names.
    public init(_ members: [String: JSONValue]) {
        self.init()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) { add(name, value) }
    }

    /// In the order given.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self.init()
        for (name, value) in members { add(name, value) }
    }

    /// The members of a stored object; its text is used unchanged if it is compact.
    /// - Throws: `DecodingError` if it is not an object.
    package init(stored text: String) throws {
        self.init()
        let bytes = Array(text.utf8)
        // On the wire a line break would end the message.
        if bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}"), !bytes.contains(UInt8(ascii: "\n")),
            let tape = JSONTape(bytes)
        {
            if tape.entries.count > 1 { self.text = bytes }
        } else {
            self = JSONMembers(try JSONCoding.decode([String: JSONValue].self, from: bytes))
        }
    }

    package mutating func add(_ name: StaticString, _ value: String) {
        write(name) { JSONEscape.quote(value, into: &$0) }
    }

    package mutating func add(_ name: StaticString, _ value: Int64) { write(name) { $0.append(digits: value) } }

    package mutating func add(_ name: StaticString, _ value: Bool) { write(name) { $0.append(json: .bool(value)) } }

    package mutating func add(_ name: StaticString, _ value: Double) { write(name) { $0.append(json: .number(value)) } }

    /// - Parameter json: text of a value, compact.
    package mutating func add(_ name: StaticString, json: [UInt8]) { write(name) { $0 += json } }

    package mutating func add(_ name: String, _ value: JSONValue) {
        begin()
        JSONEscape.quote(name, into: &text)
        text.append(UInt8(ascii: ":"))
        text.append(json: value)
        text.append(UInt8(ascii: "}"))
    }

    package mutating func add(_ others: JSONMembers) {
        guard !others.isEmpty else { return }
        begin()
        text += others.text.dropFirst()
    }

    /// - Parameter name: needs no escapes.
    private mutating func write(_ name: StaticString, _ value: (inout [UInt8]) -> Void) {
        begin()
        text.append(UInt8(ascii: "\""))
        text.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        text.append(UInt8(ascii: "\""))
        text.append(UInt8(ascii: ":"))
        value(&text)
        text.append(UInt8(ascii: "}"))
    }

    /// Removes the closing brace to make room for the next member.
    private mutating func begin() {
        if isEmpty { text.removeLast() } else { text[text.count - 1] = UInt8(ascii: ",") }
    }
}

// MARK: - Reading

extension JSONMembers {
    /// All of them, decoded again at each call.
    public var values: [String: JSONValue] { (try? value()) ?? [:] }

    public subscript(name: String) -> JSONValue? { values[name] }
}

extension [UInt8] {
    /// Appends a number without making a string of it.
    fileprivate mutating func append(digits value: Int64) {
        JSONNumbers.withDigits(of: value) { append(contentsOf: $0) }
    }

    /// Appends the text of a value, with members sorted by name. JSON has no number that is not finite: it becomes
    /// null.
    fileprivate mutating func append(json value: JSONValue) {
        switch value {
        case .null: append(contentsOf: "null".utf8)
        case .bool(let value): append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): append(contentsOf: String(value).utf8)
        case .number(let value):
            // Written as it would be after it was stored and read again.
            let text = Int64(exactly: value).map { String($0) } ?? (value.isFinite ? value.description : "null")
            append(contentsOf: text.utf8)
        case .string(let value): JSONEscape.quote(value, into: &self)
        case .array(let values):
            append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(json: value)
            }
            append(UInt8(ascii: "]"))
        case .object(let members): self += JSONMembers(members).object
        }
    }
}

/// The names of one type's members, prepared once for all texts that are searched for them.
package struct JSONNames<Key: CodingKey & CaseIterable & Sendable>: Sendable {
    let keys: [Key]
    private let table: KeyTable

    package init(_: Key.Type = Key.self) {
        keys = Array(Key.allCases)
        table = KeyTable(keys.map { $0.stringValue })
    }

    func place(of name: ArraySlice<UInt8>) -> Int? { table.place(of: name) }
}
