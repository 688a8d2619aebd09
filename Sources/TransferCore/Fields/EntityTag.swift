/// Tells strong entity tags from weak ones (RFC 9110 section 8.8.3).
package enum EntityTag {
    /// Whether it is a quoted tag without `W/`: it changes with every byte, so ranges of two answers with the same tag
    /// belong together. A tag with control characters could not be sent back.
    package static func isStrong(_ tag: String) -> Bool {
        let (bytes, quote) = (tag.utf8, UInt8(ascii: "\""))
        guard bytes.count >= 2, bytes.first == quote, bytes.last == quote else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 >= 32 && $0 != 127 && $0 != quote }
    }
}
