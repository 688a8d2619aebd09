extension HeaderField {
    /// Whether the field has this name, in whatever case (RFC 9110 section 5.1); makes no copy of either.
    package func isNamed(_ other: String) -> Bool {
        guard name.utf8.count == other.utf8.count else { return false }
        let (mine, theirs) = (name.utf8.span, other.utf8.span)
        for index in mine.indices where Self.small(mine[index]) != Self.small(theirs[index]) { return false }
        return true
    }

    /// Field names are tokens: ASCII.
    private static func small(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}
