/// Members of a JSON object as they stand in its text, to be handed on without being read: a page of a listing is full of
/// specs that go out as they were stored.
package struct JSONMembers: Sendable, Hashable {
    /// The object's text.
    private let text: [UInt8]

    /// One member's value.
    package struct Value {
        fileprivate let tape: JSONTape
        fileprivate let index: Int

        /// Its text; of a string what stands between the quotes.
        package var text: ArraySlice<UInt8> { tape.slice(tape.entries[index]) }

        package var integer: Int64? { Int64(String(decoding: text, as: UTF8.self)) }

        /// Whether it is a list of lists that all begin with a string, written without escapes, for which `holds`.
        package func beginnings(_ holds: (ArraySlice<UInt8>) -> Bool) -> Bool {
            let entries = tape.entries
            guard entries[index].kind == .array else { return false }
            var pair = index + 1
            while pair < Int(entries[index].next) {
                guard entries[pair].kind == .array, entries[pair].count > 0 else { return false }
                let first = entries[pair + 1]
                guard first.kind == .string, first.count == 0, holds(tape.slice(first)) else { return false }
                pair = Int(entries[pair].next)
            }
            return true
        }
    }

    /// - Parameter mayPass: whether a member may go out.
    /// - Returns: nil if `text` is not one object without space around it, or has a member that may not pass, is not
    ///   in `names`, is there twice or has its name written with escapes.
    package init?<Key>(of text: [UInt8], names: JSONNames<Key>, where mayPass: (Key, Value) -> Bool) {
        guard text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}"), let tape = JSONTape(text) else {
            return nil
        }
        let entries = tape.entries
        var index = 1
        var seen: UInt64 = 0
        while index < entries.count {
            guard entries[index].count == 0, let place = names.place(of: tape.slice(entries[index])), place < 64,
                seen & 1 << UInt64(place) == 0, mayPass(names.keys[place], Value(tape: tape, index: index + 1))
            else { return nil }
            seen |= 1 << UInt64(place)
            index = Int(entries[index + 1].next)
        }
        self.text = text
    }

    /// What stands between the braces.
    var bytes: ArraySlice<UInt8> { text[1..<text.count - 1] }

    /// With the braces.
    var object: [UInt8] { text }

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
