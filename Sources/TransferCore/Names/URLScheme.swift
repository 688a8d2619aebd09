/// The schemes that dld supports; the registry says which strategy serves each.
package enum URLScheme: String, Sendable, CaseIterable {
    case http, https, ftp, ftps, sftp, file, data
    /// Any other scheme. A helper program with the scheme's name serves it (`ParsedURL.schemeName`).
    case helper

    /// The schemes that dld supports without a helper.
    package static let known = allCases.filter { $0 != .helper }

    /// The longest scheme that a helper may serve.
    private static let longest = 64

    /// Whether the text, in lower case, is a scheme (RFC 3986 section 3.1). It begins with a letter and has no slash,
    /// so as the name of a file it stays in its folder.
    package static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, (97...122).contains(first), text.utf8.count <= longest else { return false }
        return text.utf8.allSatisfy { (97...122).contains($0) || $0.isDigit || "+-.".utf8.contains($0) }
    }

    /// The port if the URL names none; nil for schemes without ports.
    package var defaultPort: Int? {
        switch self {
        case .http: 80
        case .https: 443
        case .ftp: 21
        case .ftps: 990
        case .sftp: 22
        case .file, .data, .helper: nil
        }
    }

    /// Anyone on the route can read bytes and credentials. dld does not know what a helper does.
    package var isPlaintext: Bool {
        switch self {
        case .http, .ftp: true
        case .https, .ftps, .sftp, .file, .data, .helper: false
        }
    }
}
