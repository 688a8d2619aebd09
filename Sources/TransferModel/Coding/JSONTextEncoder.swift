/// Lets an `Encodable` value write itself into a `JSONTextWriter`.
struct JSONTextEncoder: Encoder {
    let writer: JSONTextWriter
    let depth: Int

    init(writer: JSONTextWriter) {
        self.writer = writer
        depth = writer.depth
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedEncodingContainer<Key> {
        writer.openObject(at: depth)
        return KeyedEncodingContainer(TextMembers(writer: writer, depth: depth))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        writer.openArray(at: depth)
        return TextElements(writer: writer, depth: depth)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { TextValue(writer: writer, depth: depth) }
}

private struct TextValue: SingleValueEncodingContainer {
    let writer: JSONTextWriter
    let depth: Int
    var codingPath: [any CodingKey] { [] }

    func encodeNil() {
        writer.scalar(at: depth)
        writer.literal("null")
    }
    func encode(_ value: Bool) {
        writer.scalar(at: depth)
        writer.bool(value)
    }
    func encode(_ value: String) {
        writer.scalar(at: depth)
        writer.string(value)
    }
    func encode(_ value: Double) throws {
        writer.scalar(at: depth)
        try writer.double(value)
    }
    func encode(_ value: Float) throws { writer.refuse() }
    private func integer(_ value: some FixedWidthInteger) {
        writer.scalar(at: depth)
        writer.integer(value)
    }
    func encode(_ value: Int) { integer(value) }
    func encode(_ value: Int8) { integer(value) }
    func encode(_ value: Int16) { integer(value) }
    func encode(_ value: Int32) { integer(value) }
    func encode(_ value: Int64) { integer(value) }
    func encode(_ value: UInt) { integer(value) }
    func encode(_ value: UInt8) { integer(value) }
    func encode(_ value: UInt16) { integer(value) }
    func encode(_ value: UInt32) { integer(value) }
    func encode(_ value: UInt64) { integer(value) }
    func encode<T: Encodable>(_ value: T) throws {
        writer.scalar(at: depth)
        try writer.write(value)
    }
}

private struct TextMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: JSONTextWriter
    let depth: Int
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) {
        writer.name(key.stringValue, at: depth)
        writer.literal("null")
    }
    func encode(_ value: Bool, forKey key: Key) {
        writer.name(key.stringValue, at: depth)
        writer.bool(value)
    }
    func encode(_ value: String, forKey key: Key) {
        writer.name(key.stringValue, at: depth)
        writer.string(value)
    }
    func encode(_ value: Double, forKey key: Key) throws {
        writer.name(key.stringValue, at: depth)
        try writer.double(value)
    }
    func encode(_ value: Float, forKey key: Key) throws { writer.refuse() }
    private func integer(_ value: some FixedWidthInteger, _ key: Key) {
        writer.name(key.stringValue, at: depth)
        writer.integer(value)
    }
    func encode(_ value: Int, forKey key: Key) { integer(value, key) }
    func encode(_ value: Int8, forKey key: Key) { integer(value, key) }
    func encode(_ value: Int16, forKey key: Key) { integer(value, key) }
    func encode(_ value: Int32, forKey key: Key) { integer(value, key) }
    func encode(_ value: Int64, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt8, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt16, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt32, forKey key: Key) { integer(value, key) }
    func encode(_ value: UInt64, forKey key: Key) { integer(value, key) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        writer.name(key.stringValue, at: depth)
        try writer.write(value)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        writer.refuse()
        return KeyedEncodingContainer(TextMembers<Nested>(writer: writer, depth: depth))
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        writer.refuse()
        return TextElements(writer: writer, depth: depth)
    }
    func superEncoder() -> any Encoder {
        writer.refuse()
        return JSONTextEncoder(writer: writer)
    }
    func superEncoder(forKey key: Key) -> any Encoder { superEncoder() }
}

private struct TextElements: UnkeyedEncodingContainer {
    let writer: JSONTextWriter
    let depth: Int
    private(set) var count = 0
    var codingPath: [any CodingKey] { [] }

    init(writer: JSONTextWriter, depth: Int) {
        self.writer = writer
        self.depth = depth
    }

    private mutating func next() {
        writer.element(at: depth)
        count += 1
    }
    mutating func encodeNil() {
        next()
        writer.literal("null")
    }
    mutating func encode(_ value: Bool) {
        next()
        writer.bool(value)
    }
    mutating func encode(_ value: String) {
        next()
        writer.string(value)
    }
    mutating func encode(_ value: Double) throws {
        next()
        try writer.double(value)
    }
    mutating func encode(_ value: Float) throws { writer.refuse() }
    private mutating func integer(_ value: some FixedWidthInteger) {
        next()
        writer.integer(value)
    }
    mutating func encode(_ value: Int) { integer(value) }
    mutating func encode(_ value: Int8) { integer(value) }
    mutating func encode(_ value: Int16) { integer(value) }
    mutating func encode(_ value: Int32) { integer(value) }
    mutating func encode(_ value: Int64) { integer(value) }
    mutating func encode(_ value: UInt) { integer(value) }
    mutating func encode(_ value: UInt8) { integer(value) }
    mutating func encode(_ value: UInt16) { integer(value) }
    mutating func encode(_ value: UInt32) { integer(value) }
    mutating func encode(_ value: UInt64) { integer(value) }
    mutating func encode<T: Encodable>(_ value: T) throws {
        next()
        try writer.write(value)
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy _: Nested.Type) -> KeyedEncodingContainer<Nested> {
        writer.refuse()
        return KeyedEncodingContainer(TextMembers<Nested>(writer: writer, depth: depth))
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        writer.refuse()
        return TextElements(writer: writer, depth: depth)
    }
    mutating func superEncoder() -> any Encoder {
        writer.refuse()
        return JSONTextEncoder(writer: writer)
    }
}
