/// A URL that was checked, in its parts.
package struct ParsedURL: Sendable, Hashable {
    package var scheme: URLScheme
    /// Lower case, IPv6 literals without their brackets; empty for file and data.
    package var host: String
    /// As written, or the scheme's; nil for file and data.
    package var port: Int?
    /// User info, percent-decoded.
    package var username: String?
    package var password: String?
    /// From the first slash on, still percent-encoded; what follows `data:` in a data URL.
    package var path: String
    /// Without its question mark.
    package var query: String?
    /// What is asked for: no user info, no fragment, what path and query cannot carry percent-encoded.
    package var requestURL: String
    /// Scheme, name and port: the unit of per-host slots, as `https://example.org:443`.
    package var hostKey: String

    /// Percent-decoded last component of the path; nil if there is none.
    package var lastPathComponent: String? {
        scheme == .data ? nil : Self.lastComponent(of: path[...])
    }

    static func lastComponent(of path: Substring) -> String? {
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex
        return start < path.endIndex ? Charsets.guess(PercentCoding.decode(path[start...])) : nil
    }

    /// Path of a file URL, percent-decoded; nil for others.
    package var filePath: String? {
        scheme == .file ? String(decoding: PercentCoding.decode(path), as: UTF8.self) : nil
    }
}
