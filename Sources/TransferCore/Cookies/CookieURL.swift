import TransferModel

/// The parts of a URL that cookies depend on.
package struct CookieURL: Sendable, Hashable {
    /// As `HostName.ofCookie` has it.
    package var host: String
    /// Without query; begins with a slash.
    package var path: String
    /// Connections to it are encrypted.
    package var isSecure: Bool

    /// - Parameter text: a complete http or https URL.
    package init(host: String, text: String, isSecure: Bool) {
        self.host = HostName.ofCookie(host)
        self.isSecure = isSecure
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
        let path =
            parts.count > 3 ? parts[3].prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") } : "".utf8[...]
        self.path = "/" + Substring(path)
    }

    /// nil for a URL that has no cookies.
    package init?(_ text: String) {
        guard let url = try? URLRules.parse(text), url.scheme == .http || url.scheme == .https else { return nil }
        self.init(host: url.host, text: url.requestURL, isSecure: url.scheme == .https)
    }

    /// The path of cookies that set none (RFC 6265bis section 5.1.4).
    var defaultPath: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// RFC 6265bis section 5.1.4.
    static func path(_ path: String, matches cookie: String) -> Bool {
        guard path.hasPrefix(cookie) else { return false }
        return path.utf8.count == cookie.utf8.count || cookie.utf8.last == UInt8(ascii: "/")
            || path.utf8.dropFirst(cookie.utf8.count).first == UInt8(ascii: "/")
    }
}

/// A request that needs its cookies.
package struct CookieRequest: Sendable, Hashable {
    package var url: CookieURL
    /// Its method changes nothing on the server (RFC 9110 section 9.2.1).
    package var isSafe: Bool
    /// A redirect on the way led from one site to another (RFC 6265bis section 5.2).
    package var crossedSites: Bool

    package init(_ url: CookieURL, isSafe: Bool = true, crossedSites: Bool = false) {
        self.url = url
        self.isSafe = isSafe
        self.crossedSites = crossedSites
    }
}
