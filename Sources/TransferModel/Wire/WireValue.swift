/// What is read from JSON and written as JSON.
public protocol WireValue: Sendable {
    /// Its type in the reference.
    static var wireType: WireType { get }
    /// - Throws: `request.bad_field` or `request.unknown_field`, with the path of the field.
    init(json node: JSONNode) throws(TransferError)
    func write(to text: inout JSONWriter)
}

/// The type of a member, as the reference prints it and OpenRPC describes it.
public indirect enum WireType: Sendable {
    case string, integer, number, boolean, null, any
    /// RFC 3339 in UTC with milliseconds.
    case time
    case seconds
    case byteCount
    /// Bytes per second, 0 = unlimited.
    case byteRate
    case taskID, sequence, userID
    /// Words, and the name of their type if it has one.
    case choice([String], of: String? = nil)
    case list(WireType)
    case map(WireType)
    case object(any WireObject.Type)
    case either([WireType])
}

extension String: WireValue {
    public static var wireType: WireType { .string }
    public init(json node: JSONNode) throws(TransferError) { self = try node.string() }
    public func write(to text: inout JSONWriter) { text.string(self) }
}

extension Bool: WireValue {
    public static var wireType: WireType { .boolean }
    public init(json node: JSONNode) throws(TransferError) { self = try node.bool() }
    public func write(to text: inout JSONWriter) { text.bool(self) }
}

extension Double: WireValue {
    public static var wireType: WireType { .number }
    public init(json node: JSONNode) throws(TransferError) { self = try node.double() }
    public func write(to text: inout JSONWriter) { text.double(self) }
}

extension WireValue where Self: FixedWidthInteger {
    public static var wireType: WireType { .integer }
    public init(json node: JSONNode) throws(TransferError) { self = try node.integer() }
    public func write(to text: inout JSONWriter) { text.integer(self) }
}

extension Int: WireValue {}
extension Int64: WireValue {}
extension Int32: WireValue {}
extension UInt8: WireValue {}
extension UInt32: WireValue {}
extension UInt64: WireValue {}

extension Array: WireValue where Element: WireValue {
    public static var wireType: WireType { .list(Element.wireType) }

    public init(json node: JSONNode) throws(TransferError) {
        guard node.kind == .array else { throw node.refusal("give a list.") }
        self = []
        reserveCapacity(Int(node.entry.count))
        for place in node.places { append(try Element(json: JSONNode(tape: node.tape, index: place))) }
    }

    public func write(to text: inout JSONWriter) { text.array(self) { $0.write(to: &$1) } }
}

/// What names the members of a dictionary.
public protocol MemberName: LosslessStringConvertible, Comparable, Hashable, Sendable {}

extension String: MemberName {}
extension Int: MemberName {}

/// Members are written in the order of their names: equal values are equal text.
extension Dictionary: WireValue where Key: MemberName, Value: WireValue {
    public static var wireType: WireType { .map(Value.wireType) }

    public init(json node: JSONNode) throws(TransferError) {
        self = [:]
        for member in try node.members() {
            let text = try member.name.string()
            guard let name = Key(text) else { throw node.refusal("this name is not expected.", member: text) }
            guard self[name] == nil else { throw node.refusal(Self.givenTwice, member: text) }
            self[name] = try Value(json: member.value)
        }
    }

    public func write(to text: inout JSONWriter) {
        text.object { text in
            for (name, value) in count > 1 ? sorted(by: { $0.key < $1.key }) : Array(self) {
                text.name(name.description)
                value.write(to: &text)
            }
        }
    }
}

extension WireValue {
    /// RFC 8259 section 4 leaves open which of two members with one name counts.
    static var givenTwice: String { "it is given twice; give it once." }
}

/// A value that is written as its raw value.
extension WireValue where Self: RawRepresentable, RawValue: WireValue {
    public static var wireType: WireType { RawValue.wireType }

    public init(json node: JSONNode) throws(TransferError) {
        guard let value = Self(rawValue: try RawValue(json: node)) else { throw node.refusal("give another value.") }
        self = value
    }

    public func write(to text: inout JSONWriter) { rawValue.write(to: &text) }
}

/// One of a closed set of words; the refusal of any other word lists the set.
public protocol Word: RawRepresentable, WireValue, CaseIterable where RawValue == String {}

extension Word {
    public static var wireType: WireType { .choice(allCases.map(\.rawValue), of: "\(Self.self)") }

    public init(json node: JSONNode) throws(TransferError) {
        guard let word = Self(rawValue: try node.string()) else {
            throw node.refusal("give one of \(Self.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        self = word
    }
}
