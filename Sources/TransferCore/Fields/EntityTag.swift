/// Tells strong from weak entity tags (RFC 9110 section 8.8.3).
package enum EntityTag {
    /// A quoted tag without `W/`: it changes with every byte, so ranges of two answers with it belong together. One with
    /// control characters could not be sent back.
    package static func isStrong(_ tag: String) -> Bool {
        tag.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"") && !tag.dropFirst().dropLast().contains("\"")
            && tag.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
    }
}
