/// Reads values from a tape for one decoding; not shared between threads.
///
/// If FoundationEssentials would do something that this reader does not reproduce exactly, the reader sets `isUnusual`,
/// and FoundationEssentials decodes the text again. So FoundationEssentials accepts whatever this reader accepts, with
/// the same value (for texts with plain numbers: `JSONNumbers`), and words every refusal.
final class TapeReader {
    let tape: JSONTape
    let isLenient: Bool
    /// The result must not be used.
    @exclusivity(unchecked) var isUnusual = false
    /// The number or text that was refused last.
    @exclusivity(unchecked) private var refused: Int?
    @exclusivity(unchecked) private var tables: [ObjectIdentifier: KeyTable?] = [:]

    /// - Parameter isLenient: members that a type does not know are ignored.
    init(_ tape: JSONTape, isLenient: Bool) {
        self.tape = tape
        self.isLenient = isLenient
    }

    /// A value has another type or is out of range. Only code that tries one type after another sees this error.
    enum Mismatch: Error {
        case value
    }

    func entry(_ index: Int) -> JSONTape.Entry { tape.entries[index] }

    func isNull(_ index: Int) -> Bool { tape.entries[index].kind == .null }

    func decode<T: Decodable>(_: T.Type, at index: Int) throws -> T {
        if T.self == String.self, let value = try string(index) as? T { return value }
        if T.self == Bool.self, let value = try bool(index) as? T { return value }
        if T.self == Int.self, let value = try integer(index, Int.self) as? T { return value }
        return try T(from: TapeDecoder(reader: self, index: index))
    }

    func string(_ index: Int) throws -> String {
        let entry = tape.entries[index]
        guard entry.kind == .string else { throw Mismatch.value }
        do {
            return try text(entry)
        } catch {
            refused = index
            throw error
        }
    }

    func text(_ entry: JSONTape.Entry) throws -> String {
        if entry.count == 0 {
            if let text = plain(entry) ?? String(validating: tape.slice(entry), as: UTF8.self) { return text }
        } else if let bytes = JSONEscape.unescaped(tape.slice(entry)),
            let text = String(validating: bytes, as: UTF8.self)
        {
            return text
        }
        isUnusual = true
        throw Mismatch.value
    }

    /// Pure ASCII, as nearly all texts are: `String(validating:)` looks up types at each call.
    private func plain(_ entry: JSONTape.Entry) -> String? {
        tape.bytes.withUnsafeBufferPointer { bytes in
            let text = UnsafeBufferPointer(rebasing: bytes[Int(entry.start)..<Int(entry.end)])
            return text.allSatisfy { $0 < 0x80 } ? String(decoding: text, as: UTF8.self) : nil
        }
    }

    func bool(_ index: Int) throws -> Bool {
        switch tape.entries[index].kind {
        case .yes: return true
        case .no: return false
        case .null, .number, .string, .array, .object: throw Mismatch.value
        }
    }

    func integer<T: FixedWidthInteger>(_ index: Int, _: T.Type = T.self) throws -> T {
        let entry = tape.entries[index]
        guard entry.kind == .number else { throw Mismatch.value }
        guard entry.count == 0 else {
            // `1.0` and `1e3` are integers to FoundationEssentials; a true fraction is not one in any decoder.
            guard let value = Double(String(decoding: tape.slice(entry), as: UTF8.self)),
                value.isFinite, value != value.rounded()
            else { throw unusual(at: index) }
            refused = index
            throw Mismatch.value
        }
        var value: T = 0
        var digits = tape.slice(entry)
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        for digit in digits {
            let (tens, overflows) = value.multipliedReportingOverflow(by: 10)
            let step = T(truncatingIfNeeded: digit &- UInt8(ascii: "0"))
            let (sum, carries) =
                isNegative ? tens.subtractingReportingOverflow(step) : tens.addingReportingOverflow(step)
            guard !overflows, !carries else { throw unusual(at: index) }
            value = sum
        }
        return value
    }

    func double(_ index: Int) throws -> Double {
        let entry = tape.entries[index]
        guard entry.kind == .number else { throw Mismatch.value }
        guard let value = Double(String(decoding: tape.slice(entry), as: UTF8.self)), value.isFinite else {
            throw unusual(at: index)
        }
        return value
    }

    func unusual(at index: Int? = nil) -> Mismatch {
        isUnusual = true
        refused = index
        return .value
    }

    /// Names the value that was refused last, if no decoder accepts it.
    var refusal: DecodingError.Context? {
        guard let refused else { return nil }
        let entry = tape.entries[refused]
        if entry.kind == .number, let value = Double(String(decoding: tape.slice(entry), as: UTF8.self)),
            Int64(exactly: value) != nil
        {
            return nil
        }
        let path = tape.path(to: refused)
        guard !path.isEmpty else { return nil }
        return DecodingError.Context(
            codingPath: path, debugDescription: entry.kind == .number ? Unrepresentable.number : Unrepresentable.text)
    }
}

// MARK: - Objects

extension TapeReader {
    /// Index of the value of the member `name`.
    func member(_ name: String, of object: Int) -> Int? {
        let entries = tape.entries
        let (end, length) = (Int(entries[object].next), name.utf8.count)
        var index = object + 1
        while index < end {
            let entry = entries[index]
            // Most names already differ in length.
            if entry.count == 0, Int(entry.end - entry.start) == length, matches(entry, name) { return index + 1 }
            index = Int(entries[index + 1].next)
        }
        return nil
    }

    /// Whether all members of the object are known, have names without escapes and occur once; if not, a slower decoder
    /// must look.
    func hasKnownMembersOnly<Key: CodingKey & CaseIterable>(_ object: Int, _: Key.Type) -> Bool {
        let entries = tape.entries
        guard entries[object].count > 0 else { return true }
        guard let table = table(of: Key.self) else { return areKnown(object, Key.self) }
        let end = Int(entries[object].next)
        var index = object + 1
        var seen: UInt64 = 0
        while index < end {
            guard entries[index].count == 0 else { return false }
            if let place = table.place(of: tape.slice(entries[index])) {
                guard place < 64, seen & (1 << UInt64(place)) == 0 else { return false }
                seen |= 1 << UInt64(place)
            } else if !isLenient {
                return false
            }
            index = Int(entries[index + 1].next)
        }
        return true
    }

    /// Calls `body` for each member of an object.
    /// - Returns: false if a member is unknown, has its name written with escapes or occurs twice; a slower decoder
    ///   must look.
    func forEachMember<Key>(
        of object: Int, named names: JSONNames<Key>, _ body: (Key, Int) throws -> Void
    ) throws -> Bool {
        let end = Int(tape.entries[object].next)
        var index = object + 1
        var seen: UInt64 = 0
        while index < end {
            let name = tape.entries[index]
            guard name.count == 0 else { return false }
            if let place = names.place(of: tape.slice(name)) {
                guard place < 64, seen & (1 << UInt64(place)) == 0 else { return false }
                seen |= 1 << UInt64(place)
                try body(names.keys[place], index + 1)
            } else if !isLenient {
                return false
            }
            index = Int(tape.entries[index + 1].next)
        }
        return true
    }

    /// Whether the object has so few members, with plain ASCII names, that comparing them pairwise is faster than a
    /// set, and no name occurs twice. If not, the caller must look.
    func hasFewPlainNames(_ object: Int) -> Bool {
        let entries = tape.entries
        guard entries[object].count <= 16 else { return false }
        let end = Int(entries[object].next)
        return tape.bytes.withUnsafeBufferPointer { bytes in
            var index = object + 1
            while index < end {
                let name = bytes[Int(entries[index].start)..<Int(entries[index].end)]
                guard entries[index].count == 0, name.allSatisfy({ $0 < 0x80 }) else { return false }
                var other = object + 1
                while other < index {
                    let before = entries[other]
                    if Int(before.end - before.start) == name.count,
                        bytes[Int(before.start)..<Int(before.end)].elementsEqual(name)
                    {
                        return false
                    }
                    other = Int(entries[other + 1].next)
                }
                index = Int(entries[index + 1].next)
            }
            return true
        }
    }

    /// The same as `hasKnownMembersOnly`, name by name.
    private func areKnown<Key: CodingKey>(_ object: Int, _: Key.Type) -> Bool {
        let entries = tape.entries
        let end = Int(entries[object].next)
        var index = object + 1
        while index < end {
            let name = tape.slice(entries[index])
            guard entries[index].count == 0 else { return false }
            guard isLenient || Key(stringValue: String(decoding: name, as: UTF8.self)) != nil else { return false }
            var other = object + 1
            while other < index {
                if tape.slice(entries[other]).elementsEqual(name) { return false }
                other = Int(entries[other + 1].next)
            }
            index = Int(entries[index + 1].next)
        }
        return true
    }

    /// - Parameter name: has the entry's length.
    private func matches(_ entry: JSONTape.Entry, _ name: String) -> Bool {
        tape.bytes.withUnsafeBufferPointer { bytes in
            var place = Int(entry.start)
            for byte in name.utf8 {
                if bytes[place] != byte { return false }
                place += 1
            }
            return true
        }
    }

    /// nil for the first object of a type: a table pays only if there are many.
    private func table<Key: CodingKey & CaseIterable>(of _: Key.Type) -> KeyTable? {
        let identifier = ObjectIdentifier(Key.self)
        if let known = tables[identifier] {
            if let table = known { return table }
            let table = KeyTable(Key.allCases.map { $0.stringValue })
            tables[identifier] = .some(table)
            return table
        }
        tables[identifier] = .some(nil)
        return nil
    }
}

/// The names of one type's members, found by length and first and last byte.
final class KeyTable: Sendable {
    private let names: [[UInt8]]
    /// For each hash, the index of a name plus 1; 0 if there is none. Names with the same hash are in the slots that
    /// follow.
    private let slots: [UInt8]

    /// - Parameter names: fewer than 255.
    init(_ names: [String]) {
        let names = names.map { Array($0.utf8) }
        var size = 4
        while size < names.count * 4 { size *= 2 }
        var slots = [UInt8](repeating: 0, count: size)
        for (place, name) in names.enumerated() {
            var slot = Self.hash(name[...]) & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = UInt8(truncatingIfNeeded: place + 1)
        }
        self.names = names
        self.slots = slots
    }

    func place(of name: ArraySlice<UInt8>) -> Int? {
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] != 0 {
            let place = Int(slots[slot]) - 1
            if names[place].count == name.count, names[place].elementsEqual(name) { return place }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private static func hash(_ name: ArraySlice<UInt8>) -> Int {
        name.count &* 37 &+ Int(name.first ?? 0) &* 5 &+ Int(name.last ?? 0)
    }
}
