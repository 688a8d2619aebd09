/// The schemes that dld supports; the registry says which strategy serves each.
package enum URLScheme: String, Sendable, CaseIterable {
    case http, https, ftp, ftps, sftp, file, data

    /// The port if the URL names none; nil for schemes without ports.
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

    /// Anyone on the route can read bytes and credentials.
    package var isPlaintext: Bool {
        switch self {
        case .http, .ftp: true
        case .https, .ftps, .sftp, .file, .data: false
        }
    }
}
