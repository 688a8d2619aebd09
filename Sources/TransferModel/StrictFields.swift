/// Reads an object's members and refuses, by name, members that its type does not know.
///
/// Errors carry the path of the field from the message's root (`tasks[3].priority`), so that a caller who sent a
/// thousand tasks learns which one is wrong.
public struct StrictFields<Key: CodingKey & CaseIterable> {
    /// Set if the members come from a tape: the object at index `object`, whose members are all known.
    private let reader: TapeReader?
    private let object: Int
    /// Set if they come from another decoder.
    private let other: KeyedFields<Key>?

    /// - Throws: `TransferError` `request.unknown_field` that names the first unknown member.
    public init(_ decoder: any Decoder, _: Key.Type = Key.self) throws {
        if let decoder = decoder as? TapeDecoder {
            object = try decoder.object()
            reader = decoder.reader
            other = nil
            guard decoder.reader.hasKnownMembersOnly(object, Key.self) else {
                throw decoder.reader.unusual()
            }
        } else {
            (object, reader) = (0, nil)
            other = try KeyedFields(decoder)
        }
    }

    /// The member's value, or nil if it is absent or null.
    public func value<T: Decodable>(_ key: Key, as _: T.Type = T.self) throws -> T? {
        guard let reader else { return try other?.value(key) }
        guard let index = reader.member(key.stringValue, of: object), !reader.isNull(index) else { return nil }
        return try reader.decode(T.self, at: index)
    }

    /// The member's value.
    /// - Throws: `TransferError` `request.bad_field` if it is absent or null.
    public func required<T: Decodable>(_ key: Key, as _: T.Type = T.self) throws -> T {
        guard let value = try value(key, as: T.self) else {
            let path = fieldPath(codingPath + [key])
            throw TransferError.bad(path, "missing; it is required.")
        }
        return value
    }

    /// Whether the member is present and null.
    public func isNull(_ key: Key) -> Bool {
        guard let reader else { return other?.isNull(key) ?? false }
        return reader.member(key.stringValue, of: object).map(reader.isNull) ?? false
    }

    /// Whether the member is present, even if it is null.
    public func contains(_ key: Key) -> Bool {
        guard let reader else { return other?.container.contains(key) ?? false }
        return reader.member(key.stringValue, of: object) != nil
    }

    private var codingPath: [any CodingKey] { other?.container.codingPath ?? [] }
}

extension StrictFields where Key: Sendable {
    /// Reads the members that are present, for types with so many members that asking for each costs more.
    /// - Parameter take: called for each member that is not null.
    /// - Throws: `request.unknown_field`, or what `take` throws.
    package static func each(
        of decoder: any Decoder, named names: JSONNames<Key>, _ take: (Key, StrictField<Key>) throws -> Void
    ) throws {
        guard let decoder = decoder as? TapeDecoder else {
            let fields = try KeyedFields<Key>(decoder)
            for key in names.keys where fields.container.contains(key) {
                try take(key, StrictField(reader: nil, index: 0, other: fields, key: key))
            }
            return
        }
        let (reader, object) = (decoder.reader, try decoder.object())
        let isRead = try reader.forEachMember(of: object, named: names) { key, index in
            if reader.isNull(index) { return }
            try take(key, StrictField(reader: reader, index: index, other: nil, key: key))
        }
        guard isRead else { throw reader.unusual() }
    }
}

/// One member of an object that is read by `StrictFields.each`.
package struct StrictField<Key: CodingKey & CaseIterable> {
    fileprivate let reader: TapeReader?
    fileprivate let index: Int
    fileprivate let other: KeyedFields<Key>?
    fileprivate let key: Key

    /// The member's value; nil only if it is null.
    package func value<T: Decodable>(as _: T.Type = T.self) throws -> T? {
        guard let reader else { return try other?.value(key) }
        return try reader.decode(T.self, at: index)
    }
}

/// Members from a decoder other than `TapeDecoder`; an object, because copies of a container are expensive.
private final class KeyedFields<Key: CodingKey & CaseIterable> {
    let container: KeyedDecodingContainer<Key>

    init(_ decoder: any Decoder) throws {
        container = try decoder.container(keyedBy: Key.self)
        if let lenient = CodingUserInfoKey.acceptsUnknownFields, decoder.userInfo[lenient] as? Bool == true { return }
        let present = try decoder.container(keyedBy: AnyKey.self).allKeys
        for key in present where Key(stringValue: key.stringValue) == nil {
            let path = fieldPath(decoder.codingPath + [key])
            let known = Key.allCases.filter { ($0 as? any PartlyBuilt)?.isBuilt ?? true }.map(\.stringValue).sorted()
            throw TransferError(
                .unknownField,
                known.isEmpty
                    ? "\(path): no such field; there are none here."
                    : "\(path): no such field. Known here: \(known.joined(separator: ", ")).",
                details: ["field": .string(path)]
            )
        }
    }

    func value<T: Decodable>(_ key: Key, as _: T.Type = T.self) throws -> T? {
        do {
            return try container.decodeIfPresent(T.self, forKey: key)
        } catch let error where !(error is DecodingError || error is TransferError) {
            throw unrepresentable(key)
        }
    }

    func isNull(_ key: Key) -> Bool { container.contains(key) && (try? container.decodeNil(forKey: key)) ?? false }

    /// For numbers and texts that Swift cannot represent, FoundationEssentials reports neither what is wrong nor where.
    private func unrepresentable(_ key: Key) -> TransferError {
        var isNumber = true
        do {
            _ = try container.decode(Double.self, forKey: key)
        } catch {
            isNumber = !(error is DecodingError)
        }
        let path = fieldPath(container.codingPath + [key])
        let what = isNumber ? Unrepresentable.number : Unrepresentable.either
        return TransferError.bad(path, what)
    }
}

extension CodingUserInfoKey {
    /// Set to true by clients, so that they understand the answers of newer daemons; never nil.
    public static let acceptsUnknownFields = CodingUserInfoKey(rawValue: "acceptsUnknownFields")
}

/// Messages about JSON values that Swift cannot represent.
enum Unrepresentable {
    static let number = "a number that is too large, or has a fraction; only whole numbers count here."
    static let text = "text with half of a surrogate pair."
    static let either = "text with half of a surrogate pair, or \(number)"
}

/// The text of a coding path, such as `tasks[3].checksum.value`. A member whose name has a dot is quoted:
/// `exceptionDomains["example.org"]`.
public func fieldPath(_ path: [any CodingKey]) -> String {
    var text = ""
    for key in path {
        if let index = key.intValue {
            text += "[\(index)]"
        } else if !text.isEmpty, key.stringValue.utf8.contains(UInt8(ascii: ".")) {
            text += "[\"\(key.stringValue)\"]"
        } else {
            text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
        }
    }
    return text
}

extension TransferError {
    /// The error that tells a client about a failed decode: the field, and what was expected.
    public init(decoding error: any Error) {
        switch error {
        case let error as TransferError: self = error
        case DecodingError.keyNotFound(let key, let context):
            let path = fieldPath(context.codingPath + [key])
            self.init(.badField, "\(path): missing; it is required.", details: ["field": .string(path)])
        case DecodingError.typeMismatch(let type, let context), DecodingError.valueNotFound(let type, let context):
            self.init(at: context.codingPath, "give \(Self.description(of: type)).")
        case DecodingError.dataCorrupted(let context): self.init(at: context.codingPath, context.debugDescription)
        default: self.init(.badField, "\(error)")
        }
    }

    private init(at codingPath: [any CodingKey], _ sentence: String) {
        let path = fieldPath(codingPath)
        self.init(
            .badField, path.isEmpty ? sentence : "\(path): \(sentence)",
            details: path.isEmpty ? [:] : ["field": .string(path)])
    }

    /// A type in the terms of JSON.
    private static func description(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is any FixedWidthInteger.Type: "a whole number"
        case is any BinaryFloatingPoint.Type: "a number"
        case is [Any].Type: "a list"
        case is [String: Any].Type: "an object"
        default: "a value of another type"
        }
    }
}

struct AnyKey: CodingKey {
    let stringValue: String
    let intValue: Int?
    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }
    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }
}
