/// The parts of a checked URL.
package struct ParsedURL: Sendable, Hashable {
    package var scheme: URLScheme
    /// Lower case, IPv6 addresses without brackets; empty for file and data.
    package var host: String
    /// As written, or the scheme's; nil for file and data.
    package var port: Int?
    /// User info, percent-decoded.
    package var username: String?
    package var password: String?
    /// From the first slash on, still percent-encoded; in a data URL, what follows `data:`.
    package var path: String
    /// Without the question mark.
    package var query: String?
    /// The URL to request: no user info and no fragment; characters that path and query cannot carry are
    /// percent-encoded.
    package var requestURL: String
    /// Scheme, name and port: the unit of per-host slots, as `https://example.org:443`.
    package var hostKey: String

    /// A URL of a helper without `//` after its scheme: only the helper knows its parts.
    private var isOpaque: Bool { scheme == .helper && !requestURL.dropFirst(schemeName.count).hasPrefix("://") }

    /// The text before the colon, in lower case.
    package var schemeName: String {
        scheme == .helper ? String(requestURL.prefix { $0 != ":" }) : scheme.rawValue
    }

    /// FTP, SFTP: why it names no file to fetch, and what to name instead; nil if it does. libcurl drops everything from
    /// the first `;type=` (RFC 1738 section 3.2.2) on.
    var whyNoFile: String? {
        guard scheme == .ftp || scheme == .ftps || scheme == .sftp else { return nil }
        let type = scheme == .sftp ? nil : path.firstRange(of: ";type=")
        if let type, path[type.upperBound...].lowercased() != "i" {
            return "only type i has the file's own bytes; leave out \(path[type.lowerBound...])."
        }
        guard PercentCoding.decode(path[..<(type?.lowerBound ?? path.endIndex)]).last == UInt8(ascii: "/") else {
            return nil
        }
        return "it is a folder, whose listing is no file; name a file in it."
    }

    /// Percent-decoded last component of the path; nil if there is none.
    package var lastPathComponent: String? {
        scheme == .data || isOpaque ? nil : Self.lastComponent(of: path[...])
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
