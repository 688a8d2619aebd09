import TransferModel

/// What a task, a session and the daemon's settings accept as a proxy (curl(1), `--proxy`).
package enum ProxyRules {
    /// What is accepted, in words for refusals. Refusals never repeat the given text, which may contain a password.
    package static let accepted = "none, or scheme://host:port with scheme http, https, socks5 or socks5h"

    /// The caller must handle the empty text.
    package static func accepts(_ text: String) -> Bool {
        if text == "none" { return true }
        guard let mark = text.firstRange(of: "://"), schemes.contains(text[..<mark.lowerBound].lowercased()),
            !text.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
        else { return false }
        // Host, port and user info have the same form as in any URL.
        return (try? URLRules.parse("http" + text[mark.lowerBound...]))?.path == "/"
    }

    /// Host and port in a proxy's URL, without its credentials. Without a port, libcurl uses 1080, or 443 for https
    /// (CURLOPT_PROXY(3)). nil if there is no proxy.
    package static func address(_ text: String) -> String? {
        if text.isEmpty || text == "none" { return nil }
        let text = ascii(text)
        let mark = text.firstRange(of: "://")
        let scheme = mark.map { text[..<$0.lowerBound].lowercased() }
        let authority = (mark.map { text[$0.upperBound...] } ?? text[...]).prefix { $0 != "/" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        if host.isEmpty { return nil }
        let hasPort = host.last != "]" && host.split(separator: "]").last?.contains(":") == true
        return hasPort ? String(host) : "\(host):\(scheme == "https" ? 443 : 1080)"
    }

    /// The proxy's URL with its host as in any URL: without percent-encoding, with A-labels (RFC 5890). libcurl would convert
    /// it by the locale of the process.
    package static func ascii(_ text: String) -> String {
        guard let mark = text.firstRange(of: "://") else { return text }
        let authority = text[mark.upperBound...].utf8.prefix { $0 != UInt8(ascii: "/") }
        let start = authority.lastIndex(of: UInt8(ascii: "@")).map(text.utf8.index(after:)) ?? authority.startIndex
        let host = text.utf8[start..<authority.endIndex].prefix { $0 != UInt8(ascii: ":") }
        // The address in brackets may have a zone.
        guard host.first != UInt8(ascii: "["), host.contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "%") }),
            let url = try? URLRules.parse("http://\(Substring(host))")
        else { return text }
        return text[..<start] + url.host + text[host.endIndex...]
    }

    /// The proxy that the environment names for a scheme (curl(1), ENVIRONMENT), if libcurl's message is about its
    /// host: only libcurl knows whether an exception such as `no_proxy` applied.
    /// - Parameter variable: reads a variable of the environment.
    package static func address(
        inEnvironment variable: (String) -> String?, scheme: String, concerning message: String
    ) -> String? {
        guard let address = address(inEnvironment: variable, scheme: scheme), let colon = address.lastIndex(of: ":"),
            message.contains(address[..<colon])
        else { return nil }
        return address
    }

    /// The proxy that the environment names for a scheme, ignoring exceptions.
    package static func address(inEnvironment variable: (String) -> String?, scheme: String) -> String? {
        let names =
            ["\(scheme)_proxy"] + (scheme == "http" ? [] : ["\(scheme)_proxy".uppercased()]) + [
                "all_proxy", "ALL_PROXY",
            ]
        return names.lazy.compactMap(variable).first { !$0.isEmpty }.flatMap { address($0) }
    }

    private static let schemes: Set = ["http", "https", "socks5", "socks5h"]
}
