/// Any JSON value: event payloads, error details and other parts whose shape depends on their kind.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    public var integerValue: Int64? { if case .integer(let value) = self { value } else { nil } }
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    public var objectValue: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }
    public var numberValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }
}

extension JSONValue: WireValue {
    public static let wireType = WireType.any

    public init(json node: JSONNode) throws(TransferError) {
        switch node.kind {
        case .null: self = .null
        case .yes: self = .bool(true)
        case .no: self = .bool(false)
        case .string: self = .string(try node.string())
        case .number:
            if let whole = node.integerIfAny(Int64.self) {
                self = .integer(whole)
            } else {
                self = .number(try node.double())
            }
        case .array:
            var elements: [JSONValue] = []
            for element in try node.elements() { elements.append(try JSONValue(json: element)) }
            self = .array(elements)
        case .object: self = .object(try [String: JSONValue](json: node))
        }
    }

    public func write(to text: inout JSONWriter) {
        switch self {
        case .null: text.null()
        case .bool(let value): text.bool(value)
        case .integer(let value): text.integer(value)
        case .number(let value): text.double(value)
        case .string(let value): text.string(value)
        case .array(let elements): elements.write(to: &text)
        case .object(let members): members.write(to: &text)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(nilLiteral: ()) { self = .null }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
