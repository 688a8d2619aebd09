/// Members of a JSON object in their text form, to be passed on without being decoded. The specs on a page of a listing
/// are sent as they were stored, and subscribers get the text of an event that the store keeps.
public struct JSONMembers: Sendable, Hashable {
    /// The object's text.
    private var text: [UInt8]

    /// - Parameter mayPass: whether the member at this place of `names` may be sent.
    /// - Returns: nil if `text` is not exactly one object, or if a member may not pass, is not in `names`, occurs twice
    ///   or has its name written with escapes.
    package init?(of text: [UInt8], _ names: NameTable, where mayPass: (Int, JSONNode) -> Bool) {
        guard text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}"), let tape = try? JSONTape(text) else {
            return nil
        }
        var seen = PlaceSet()
        for index in tape.root.places {
            let name = tape.entries[index]
            guard name.count == 0, let place = names.place(of: tape.slice(name)), seen.insert(place),
                mayPass(place, JSONNode(tape: tape, index: index + 1))
            else { return nil }
        }
        self.text = text
    }

    /// The text between the braces.
    var bytes: ArraySlice<UInt8> { text[1..<text.count - 1] }

    /// With the braces.
    package var object: [UInt8] { text }

    public var isEmpty: Bool { text.count == Self.none.count }

    private static let none = Array("{}".utf8)

    /// The object itself, as a value of its type.
    package func value<T: WireValue>(_: T.Type = T.self) throws(TransferError) -> T {
        try JSONCoding.decode(T.self, from: text, lenient: true)
    }
}

extension JSONMembers: WireValue {
    public static let wireType = WireType.map(.any)
    public init(json node: JSONNode) throws(TransferError) { self.init(try [String: JSONValue](json: node)) }
    public func write(to text: inout JSONWriter) { text.append(self.text) }
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
    /// - Throws: `TransferError` if it is not an object.
    package init(stored text: String) throws(TransferError) {
        self.init()
        let bytes = Array(text.utf8)
        // On the wire a line break would end the message.
        if bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}"), !bytes.contains(UInt8(ascii: "\n")),
            let tape = try? JSONTape(bytes)
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

    package mutating func add(_ name: StaticString, _ value: Bool) {
        write(name) { $0 += (value ? "true" : "false").utf8 }
    }

    package mutating func add(_ name: StaticString, _ value: Double) { add("\(name)", .number(value)) }

    /// - Parameter json: text of a value, compact.
    package mutating func add(_ name: StaticString, json: [UInt8]) { write(name) { $0 += json } }

    package mutating func add(_ name: String, _ value: JSONValue) {
        begin()
        JSONEscape.quote(name, into: &text)
        text.append(UInt8(ascii: ":"))
        text += JSONCoding.encode(value)
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
