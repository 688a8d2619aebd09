/// Members of a JSON object as they stand in its text, to be handed on without being read: a page of a listing is full of
/// specs that go out as they were stored.
package struct JSONMembers: Sendable, Hashable {
    /// The object's text.
    private let text: [UInt8]

    /// - Parameter mayPass: whether a member may go out; of a value it sees the text.
    /// - Returns: nil where `text` is not one object without space around it, or has a member that may not pass, is not
    ///   in `names`, is there twice or has its name written with escapes.
    package init?<Key>(of text: [UInt8], names: JSONNames<Key>, where mayPass: (Key, ArraySlice<UInt8>) -> Bool) {
        guard text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}"), let tape = JSONTape(text) else {
            return nil
        }
        let entries = tape.entries
        var index = 1
        var seen: UInt64 = 0
        while index < entries.count {
            guard entries[index].count == 0, let place = names.place(of: tape.slice(entries[index])), place < 64,
                seen & 1 << UInt64(place) == 0, mayPass(names.keys[place], tape.slice(entries[index + 1]))
            else { return nil }
            seen |= 1 << UInt64(place)
            index = Int(entries[index + 1].next)
        }
        self.text = text
    }

    /// What stands between the braces.
    var bytes: ArraySlice<UInt8> { text[1..<text.count - 1] }

    /// The object itself, for whoever cannot take its text.
    package func value<T: Decodable>(_: T.Type = T.self) throws -> T { try JSONCoding.decode(T.self, from: text) }
}

/// The names of one type's members, made once for all texts that are searched for them.
package struct JSONNames<Key: CodingKey & CaseIterable & Sendable>: Sendable {
    let keys: [Key]
    private let table: KeyTable

    package init(_: Key.Type = Key.self) {
        keys = Array(Key.allCases)
        table = KeyTable(keys.map { $0.stringValue })
    }

    func place(of name: ArraySlice<UInt8>) -> Int? { table.place(of: name) }
}
