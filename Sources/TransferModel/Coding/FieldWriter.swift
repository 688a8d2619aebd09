/// Writes an object's members, those that are nil left out; the counterpart of `StrictFields`.
///
/// A keyed container costs a box and a call for each member that a type could have; here only those count that it has.
struct FieldWriter<Key: CodingKey> {
    private enum Target {
        case text(JSONTextWriter, depth: Int)
        case container(KeyedEncodingContainer<Key>)
    }

    private var target: Target

    init(_ encoder: any Encoder, _: Key.Type = Key.self) {
        if let encoder = encoder as? JSONTextEncoder {
            encoder.writer.openObject(at: encoder.depth)
            target = .text(encoder.writer, depth: encoder.depth)
        } else {
            target = .container(encoder.container(keyedBy: Key.self))
        }
    }

    mutating func write<T: Encodable>(_ value: T?, _ key: Key) throws {
        guard let value else { return }
        switch target {
        case .text(let writer, let depth):
            writer.name(key.stringValue, at: depth)
            try writer.write(value)
        case .container(var container):
            try container.encode(value, forKey: key)
            target = .container(container)
        }
    }
}
