/// Reads an object's members and refuses, by name, those its type does not know.
///
/// Errors carry the path of the field from the message's root (`tasks[3].priority`), so that a caller who sent a
/// thousand tasks learns which one is wrong.
public struct StrictFields<Key: CodingKey & CaseIterable> {
    private enum Source {
        /// The object at this place of a tape, whose members are all known.
        case tape(TapeReader, object: Int)
        case container(KeyedDecodingContainer<Key>)
    }

    private let source: Source

    /// - Throws: `TransferError` `request.unknown_field` that names the first unknown member.
    public init(_ decoder: any Decoder, _: Key.Type = Key.self) throws {
        if let decoder = decoder as? TapeDecoder {
            let object = try decoder.object()
            guard decoder.reader.hasKnownMembersOnly(object, Key.self) else {
                throw decoder.reader.unusual()
            }
            source = .tape(decoder.reader, object: object)
            return
        }
        source = .container(try decoder.container(keyedBy: Key.self))
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

    /// The member's value, or nil where it is absent or null.
    public func value<T: Decodable>(_ key: Key, as _: T.Type = T.self) throws -> T? {
        switch source {
        case .tape(let reader, let object):
            guard let index = reader.member(key.stringValue, of: object), !reader.isNull(index) else { return nil }
            return try reader.decode(T.self, at: index)
        case .container(let container):
            do {
                return try container.decodeIfPresent(T.self, forKey: key)
            } catch let error where !(error is DecodingError || error is TransferError) {
                throw Self.unrepresentable(key, in: container)
            }
        }
    }

    /// The member's value.
    /// - Throws: `TransferError` `request.bad_field` where it is absent or null.
    public func required<T: Decodable>(_ key: Key, as _: T.Type = T.self) throws -> T {
        guard let value = try value(key, as: T.self) else {
            let path = fieldPath(codingPath + [key])
            throw TransferError(.badField, "\(path): missing; it is required.", details: ["field": .string(path)])
        }
        return value
    }

    /// Whether the member is present and null.
    public func isNull(_ key: Key) -> Bool {
        switch source {
        case .tape(let reader, let object): reader.member(key.stringValue, of: object).map(reader.isNull) ?? false
        case .container(let container): container.contains(key) && (try? container.decodeNil(forKey: key)) ?? false
        }
    }

    /// Whether the member is present, be it null.
    public func contains(_ key: Key) -> Bool {
        switch source {
        case .tape(let reader, let object): reader.member(key.stringValue, of: object) != nil
        case .container(let container): container.contains(key)
        }
    }

    /// FoundationEssentials says of numbers and texts that Swift has no value for, from within, neither what nor where.
    private static func unrepresentable(_ key: Key, in container: KeyedDecodingContainer<Key>) -> TransferError {
        var isNumber = true
        do {
            _ = try container.decode(Double.self, forKey: key)
        } catch {
            isNumber = !(error is DecodingError)
        }
        let path = fieldPath(container.codingPath + [key])
        let what = isNumber ? Unrepresentable.number : Unrepresentable.either
        return TransferError(.badField, "\(path): \(what)", details: ["field": .string(path)])
    }

    private var codingPath: [any CodingKey] {
        switch source {
        case .tape: []
        case .container(let container): container.codingPath
        }
    }
}

/// What is said of values of JSON that Swift has none for.
enum Unrepresentable {
    static let number = "a number that is too large, or has a fraction; only whole numbers count here."
    static let text = "text with half of a surrogate pair."
    static let either = "text with half of a surrogate pair, or \(number)"
}

extension CodingUserInfoKey {
    /// Set to true by clients, so that they understand answers of newer daemons; never nil.
    public static let acceptsUnknownFields = CodingUserInfoKey(rawValue: "acceptsUnknownFields")
}

/// `tasks[3].checksum.value` of a coding path.
public func fieldPath(_ path: [any CodingKey]) -> String {
    var text = ""
    for key in path {
        if let index = key.intValue {
            text += "[\(index)]"
        } else {
            text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
        }
    }
    return text
}

extension TransferError {
    /// What a failed decode says to the client: the field, what was expected, in the shared vocabulary.
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

    /// A type in the words of JSON.
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
