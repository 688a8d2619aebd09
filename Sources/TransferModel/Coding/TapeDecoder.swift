/// Presents one value of a tape to `Decodable` types.
struct TapeDecoder: Decoder {
    let reader: TapeReader
    let index: Int

    /// Other code words the errors, so the path is not needed.
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] {
        guard reader.isLenient, let key = CodingUserInfoKey.acceptsUnknownFields else { return [:] }
        return [key: true]
    }

    /// The object's index, if the value is an object.
    func object() throws -> Int {
        guard reader.entry(index).kind == .object else { throw TapeReader.Mismatch.value }
        return index
    }

    func container<Key: CodingKey>(keyedBy _: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try TapeMembers(reader, object()))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard reader.entry(index).kind == .array else { throw TapeReader.Mismatch.value }
        return TapeElements(reader, index)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { TapeValue(reader: reader, index: index) }
}

private struct TapeValue: SingleValueDecodingContainer {
    let reader: TapeReader
    let index: Int
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { reader.isNull(index) }
    func decode(_: Bool.Type) throws -> Bool { try reader.bool(index) }
    func decode(_: String.Type) throws -> String { try reader.string(index) }
    func decode(_: Double.Type) throws -> Double { try reader.double(index) }
    func decode(_: Float.Type) throws -> Float { throw reader.unusual() }
    func decode(_: Int.Type) throws -> Int { try reader.integer(index) }
    func decode(_: Int8.Type) throws -> Int8 { try reader.integer(index) }
    func decode(_: Int16.Type) throws -> Int16 { try reader.integer(index) }
    func decode(_: Int32.Type) throws -> Int32 { try reader.integer(index) }
    func decode(_: Int64.Type) throws -> Int64 { try reader.integer(index) }
    func decode(_: UInt.Type) throws -> UInt { try reader.integer(index) }
    func decode(_: UInt8.Type) throws -> UInt8 { try reader.integer(index) }
    func decode(_: UInt16.Type) throws -> UInt16 { try reader.integer(index) }
    func decode(_: UInt32.Type) throws -> UInt32 { try reader.integer(index) }
    func decode(_: UInt64.Type) throws -> UInt64 { try reader.integer(index) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try reader.decode(type, at: index) }
}

private struct TapeMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let reader: TapeReader
    private let object: Int
    var codingPath: [any CodingKey] { [] }

    init(_ reader: TapeReader, _ object: Int) throws {
        self.reader = reader
        self.object = object
        if reader.hasFewPlainNames(object) { return }
        var names: Set<String> = []
        try forEachMember { name, _ in
            if !names.insert(name).inserted { reader.isUnusual = true }
        }
    }

    var allKeys: [Key] {
        var keys: [Key] = []
        try? forEachMember { name, _ in
            if let key = Key(stringValue: name) { keys.append(key) }
        }
        return keys
    }

    private func forEachMember(_ body: (String, Int) -> Void) throws {
        let end = Int(reader.entry(object).next)
        var index = object + 1
        while index < end {
            body(try reader.text(reader.entry(index)), index + 1)
            index = Int(reader.entry(index + 1).next)
        }
    }

    private func find(_ key: Key) -> Int? {
        if let index = reader.member(key.stringValue, of: object) { return index }
        var found: Int?
        // The name may be written with escapes.
        try? forEachMember { name, index in
            if name == key.stringValue { found = found ?? index }
        }
        return found
    }

    private func index(_ key: Key) throws -> Int {
        guard let index = find(key) else { throw TapeReader.Mismatch.value }
        return index
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { reader.isNull(try index(key)) }
    func decode(_: Bool.Type, forKey key: Key) throws -> Bool { try reader.bool(index(key)) }
    func decode(_: String.Type, forKey key: Key) throws -> String { try reader.string(index(key)) }
    func decode(_: Double.Type, forKey key: Key) throws -> Double { try reader.double(index(key)) }
    func decode(_: Float.Type, forKey key: Key) throws -> Float { throw reader.unusual() }
    func decode(_: Int.Type, forKey key: Key) throws -> Int { try reader.integer(index(key)) }
    func decode(_: Int8.Type, forKey key: Key) throws -> Int8 { try reader.integer(index(key)) }
    func decode(_: Int16.Type, forKey key: Key) throws -> Int16 { try reader.integer(index(key)) }
    func decode(_: Int32.Type, forKey key: Key) throws -> Int32 { try reader.integer(index(key)) }
    func decode(_: Int64.Type, forKey key: Key) throws -> Int64 { try reader.integer(index(key)) }
    func decode(_: UInt.Type, forKey key: Key) throws -> UInt { try reader.integer(index(key)) }
    func decode(_: UInt8.Type, forKey key: Key) throws -> UInt8 { try reader.integer(index(key)) }
    func decode(_: UInt16.Type, forKey key: Key) throws -> UInt16 { try reader.integer(index(key)) }
    func decode(_: UInt32.Type, forKey key: Key) throws -> UInt32 { try reader.integer(index(key)) }
    func decode(_: UInt64.Type, forKey key: Key) throws -> UInt64 { try reader.integer(index(key)) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try reader.decode(type, at: index(key)) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try TapeDecoder(reader: reader, index: index(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try TapeDecoder(reader: reader, index: index(key)).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { throw reader.unusual() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw reader.unusual() }
}

private struct TapeElements: UnkeyedDecodingContainer {
    private let reader: TapeReader
    private let total: Int
    private var index: Int
    private(set) var currentIndex = 0
    var codingPath: [any CodingKey] { [] }

    init(_ reader: TapeReader, _ array: Int) {
        self.reader = reader
        total = Int(reader.entry(array).count)
        index = array + 1
    }

    var count: Int? { total }
    var isAtEnd: Bool { currentIndex == total }

    private mutating func next<T>(_ read: (TapeReader, Int) throws -> T) throws -> T {
        guard !isAtEnd else { throw TapeReader.Mismatch.value }
        let value = try read(reader, index)
        index = Int(reader.entry(index).next)
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, reader.isNull(index) else { return false }
        return try next { _, _ in true }
    }
    mutating func decode(_: Bool.Type) throws -> Bool { try next { try $0.bool($1) } }
    mutating func decode(_: String.Type) throws -> String { try next { try $0.string($1) } }
    mutating func decode(_: Double.Type) throws -> Double { try next { try $0.double($1) } }
    mutating func decode(_: Float.Type) throws -> Float { throw reader.unusual() }
    mutating func decode(_: Int.Type) throws -> Int { try next { try $0.integer($1) } }
    mutating func decode(_: Int8.Type) throws -> Int8 { try next { try $0.integer($1) } }
    mutating func decode(_: Int16.Type) throws -> Int16 { try next { try $0.integer($1) } }
    mutating func decode(_: Int32.Type) throws -> Int32 { try next { try $0.integer($1) } }
    mutating func decode(_: Int64.Type) throws -> Int64 { try next { try $0.integer($1) } }
    mutating func decode(_: UInt.Type) throws -> UInt { try next { try $0.integer($1) } }
    mutating func decode(_: UInt8.Type) throws -> UInt8 { try next { try $0.integer($1) } }
    mutating func decode(_: UInt16.Type) throws -> UInt16 { try next { try $0.integer($1) } }
    mutating func decode(_: UInt32.Type) throws -> UInt32 { try next { try $0.integer($1) } }
    mutating func decode(_: UInt64.Type) throws -> UInt64 { try next { try $0.integer($1) } }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next { try $0.decode(type, at: $1) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next { try TapeDecoder(reader: $0, index: $1).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try TapeDecoder(reader: $0, index: $1).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { throw reader.unusual() }
}
