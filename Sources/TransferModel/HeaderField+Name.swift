extension HeaderField {
    /// Whether the field has this name, ignoring case (RFC 9110 section 5.1); copies neither name.
    package func isNamed(_ other: String) -> Bool {
        guard name.utf8.count == other.utf8.count else { return false }
        return name.bytes { mine in
            other.bytes { theirs in
                // Most names of the same length differ in their last letter.
                var index = mine.count - 1
                while index >= 0 {
                    if mine[index] != theirs[index], Self.small(mine[index]) != Self.small(theirs[index]) {
                        return false
                    }
                    index -= 1
                }
                return true
            }
        }
    }

    /// Field names are tokens: ASCII.
    private static func small(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}

extension [HeaderField] {
    /// Values of the fields of this name, in order. The fields are examined in place: a loop would count references to
    /// the texts of each.
    package func values(named name: String) -> [String] {
        let fields = span
        var values: [String] = []
        for index in fields.indices where fields[index].isNamed(name) { values.append(fields[index].value) }
        return values
    }

    /// Index of the first field of this name; nil if there is none.
    package func firstIndex(named name: String) -> Int? {
        let fields = span
        for index in fields.indices where fields[index].isNamed(name) { return index }
        return nil
    }
}
