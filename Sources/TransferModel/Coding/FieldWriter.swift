/// Writes an object's members and leaves out those that are nil; the counterpart of `StrictFields`.
///
/// A keyed container costs a box and a call for each member that a type could have. Here only the members that are set
/// cost anything. Members that are single values have functions of their own, which are inlined so that `Key` is not
/// looked up at run time: a value that encodes itself costs ten times as much.
package struct FieldWriter<Key: CodingKey> {
    /// Set if members are written as text; otherwise `container` is set.
    @usableFromInline let text: TextObject?
    @usableFromInline let container: KeyedMembers<Key>?

    package init(_ encoder: any Encoder, _: Key.Type = Key.self) {
        if let encoder = encoder as? JSONTextEncoder {
            encoder.writer.openObject(at: encoder.depth)
            text = TextObject(writer: encoder.writer, depth: encoder.depth)
            container = nil
        } else {
            text = nil
            container = KeyedMembers(encoder.container(keyedBy: Key.self))
        }
    }

    @inlinable
    package mutating func write<T: Encodable>(_ value: T?, _ key: Key) throws {
        guard let value else { return }
        if let text {
            try text.write(value, key.stringValue)
        } else {
            try container?.members.encode(value, forKey: key)
        }
    }

    @inlinable
    package mutating func write(_ value: String?, _ key: Key) throws {
        guard let value else { return }
        if let text { text.write(value, key.stringValue) } else { try container?.members.encode(value, forKey: key) }
    }

    @inlinable
    package mutating func write<T: Word>(_ value: T?, _ key: Key) throws { try write(value?.rawValue, key) }

    @inlinable
    package mutating func write(_ value: TaskID?, _ key: Key) throws { try write(value?.rawValue, key) }

    @inlinable
    package mutating func write(_ value: Int64?, _ key: Key) throws {
        guard let value else { return }
        if let text { text.write(value, key.stringValue) } else { try container?.members.encode(value, forKey: key) }
    }

    /// - Throws: `EncodingError` for numbers that JSON does not have.
    @inlinable
    package mutating func write(_ value: Double?, _ key: Key) throws {
        guard let value else { return }
        if let text {
            try text.write(value, key.stringValue)
        } else {
            try container?.members.encode(value, forKey: key)
        }
    }

    @inlinable
    package mutating func write(_ value: Bool?, _ key: Key) throws {
        guard let value else { return }
        if let text { text.write(value, key.stringValue) } else { try container?.members.encode(value, forKey: key) }
    }

    @inlinable
    package mutating func write(_ value: [HeaderField], _ key: Key) throws {
        if let text { text.write(value, key.stringValue) } else { try container?.members.encode(value, forKey: key) }
    }

    /// Writes an object that is already text.
    /// - Parameter type: the object's type, for encoders that do not take text.
    /// - Throws: what `type` throws when it decodes the object.
    package mutating func write<T: Codable>(_ object: JSONMembers, _ key: Key, as type: T.Type) throws {
        if let text { return text.write(object, key.stringValue) }
        try container?.members.encode(object.value(type), forKey: key)
    }

    /// Writes members that are already text.
    /// - Returns: false if the encoder does not take text: the members must be written one by one.
    package func splice(_ members: JSONMembers) -> Bool {
        guard let text else { return false }
        text.writer.splice(members, at: text.depth)
        return true
    }
}

/// Another encoder's container; an object, because copies of a container are expensive.
@usableFromInline
final class KeyedMembers<Key: CodingKey> {
    @usableFromInline var members: KeyedEncodingContainer<Key>

    init(_ members: KeyedEncodingContainer<Key>) { self.members = members }
}

/// An object that is being written as text.
@usableFromInline
struct TextObject {
    let writer: JSONTextWriter
    let depth: Int

    @usableFromInline
    func write(_ value: some Encodable, _ name: String) throws {
        writer.name(name, at: depth)
        try writer.write(value)
    }

    @usableFromInline
    func write(_ value: String, _ name: String) {
        writer.name(name, at: depth)
        writer.string(value)
    }

    @usableFromInline
    func write(_ value: Int64, _ name: String) {
        writer.name(name, at: depth)
        writer.integer(value)
    }

    @usableFromInline
    func write(_ value: Double, _ name: String) throws {
        writer.name(name, at: depth)
        try writer.double(value)
    }

    @usableFromInline
    func write(_ value: Bool, _ name: String) {
        writer.name(name, at: depth)
        writer.bool(value)
    }

    @usableFromInline
    func write(_ value: [HeaderField], _ name: String) {
        writer.name(name, at: depth)
        writer.fields(value)
    }

    func write(_ object: JSONMembers, _ name: String) {
        writer.name(name, at: depth)
        writer.object(object)
    }
}
