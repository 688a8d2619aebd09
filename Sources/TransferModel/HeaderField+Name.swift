extension HeaderField {
    /// Whether the field has this name, in whatever case (RFC 9110 section 5.1); makes no copy of either.
    package func isNamed(_ other: String) -> Bool {
        let (mine, theirs) = (name.utf8, other.utf8)
        return mine.count == theirs.count && zip(mine, theirs).allSatisfy { Self.small($0) == Self.small($1) }
    }

    /// Field names are tokens: ASCII.
    private static func small(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}
