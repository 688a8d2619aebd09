import TransferModel

/// One method of the protocol, declared once: daemon, client and reference use this declaration.
public protocol RPCMethod: Sendable {
    associatedtype Parameters: WireObject
    associatedtype Result: WireObject
    /// The name in a request, such as `task.add`.
    static var name: String { get }
    /// The description in the reference.
    static var summary: String { get }
    /// Codes this method may answer with, besides those any method may (`RPCCatalog.commonErrors`).
    static var errors: [ErrorCode] { get }
}

/// A JSON object of the protocol whose members are documented in its declaration.
///
/// `field` switches over the coding keys, so a member without documentation does not compile.
public protocol WireObject: Codable, Sendable {
    associatedtype Key: CodingKey & CaseIterable & Sendable
    /// Name of the object in the reference.
    static var wireName: String { get }
    static func field(_ key: Key) -> Field
}

extension WireObject {
    public static var wireName: String { "\(Self.self)" }

    /// Every member with its documentation, in declaration order.
    public static var fields: [(name: String, field: Field)] {
        Key.allCases.map { ($0.stringValue, field($0)) }
    }
}

/// The documentation of one member.
public struct Field: Sendable {
    public var type: WireType
    public var isRequired: Bool
    /// A sentence or two; units if the type does not give them.
    public var text: String

    public static func required(_ type: WireType, _ text: String) -> Field {
        Field(type: type, isRequired: true, text: text)
    }

    public static func optional(_ type: WireType, _ text: String) -> Field {
        Field(type: type, isRequired: false, text: text)
    }
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
    case choice([String])
    case list(WireType)
    case map(WireType)
    case object(any WireObject.Type)
    case either([WireType])

    public static func oneOf<Choice: CaseIterable & RawRepresentable>(_: Choice.Type) -> WireType
    where Choice.RawValue == String {
        .choice(Choice.allCases.map(\.rawValue))
    }
}

/// An empty object: no parameters, or an empty result.
public struct Nothing: WireObject, Hashable {
    public enum CodingKeys: CodingKey, CaseIterable {}
    public static let wireName = "Nothing"
    public static func field(_ key: CodingKeys) -> Field {}
    public init() {}

    public init(from decoder: any Decoder) throws {
        _ = try StrictFields(decoder, CodingKeys.self)
    }

    public func encode(to encoder: any Encoder) throws {
        _ = encoder.container(keyedBy: CodingKeys.self)
    }
}
