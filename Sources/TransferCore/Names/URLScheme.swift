/// The schemes dld speaks; the registry says what carries each.
package enum URLScheme: String, Sendable, CaseIterable {
    case http, https, ftp, ftps, sftp, file, data

    /// Where the URL names no port; nil for what has none.
    package var defaultPort: Int? {
        switch self {
        case .http: 80
        case .https: 443
        case .ftp: 21
        case .ftps: 990
        case .sftp: 22
        case .file, .data: nil
        }
    }

    /// Bytes and credentials cross the network readable by anyone on the way.
    package var isPlaintext: Bool {
        switch self {
        case .http, .ftp: true
        case .https, .ftps, .sftp, .file, .data: false
        }
    }
}
