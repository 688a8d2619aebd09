import TransferModel

/// What may stand where a proxy is asked for (curl(1), `--proxy`): of a task, a session and the daemon's settings.
package enum ProxyRules {
    /// What is taken, in words for refusals. They never repeat what was given, which may hold a password.
    package static let accepted = "none, or scheme://host:port with scheme http, https, socks5 or socks5h"

    /// The empty text is for the caller to judge.
    package static func accepts(_ text: String) -> Bool {
        if text == "none" { return true }
        guard let mark = text.firstRange(of: "://"), schemes.contains(text[..<mark.lowerBound].lowercased()),
            !text.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
        else { return false }
        // Host, port and user info are written as in any URL.
        return (try? URLRules.parse("http" + text[mark.lowerBound...]))?.path == "/"
    }

    /// Host and port that a proxy's URL names, without its credentials. Without a port libcurl takes 1080, for https 443
    /// (CURLOPT_PROXY(3)). nil if there is no proxy.
    package static func address(_ text: String) -> String? {
        if text.isEmpty || text == "none" { return nil }
        let mark = text.firstRange(of: "://")
        let scheme = mark.map { text[..<$0.lowerBound].lowercased() }
        let authority = (mark.map { text[$0.upperBound...] } ?? text[...]).prefix { $0 != "/" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        if host.isEmpty { return nil }
        let hasPort = host.last != "]" && host.split(separator: "]").last?.contains(":") == true
        return hasPort ? String(host) : "\(host):\(scheme == "https" ? 443 : 1080)"
    }

    /// The proxy that the environment names for a scheme (curl(1), ENVIRONMENT), if a message of libcurl is about its host:
    /// exceptions such as `no_proxy` are for libcurl to know.
    /// - Parameter variable: reads a variable of the environment.
    package static func address(
        inEnvironment variable: (String) -> String?, scheme: String, concerning message: String
    ) -> String? {
        guard let address = address(inEnvironment: variable, scheme: scheme), let colon = address.lastIndex(of: ":"),
            message.contains(address[..<colon])
        else { return nil }
        return address
    }

    /// The proxy that the environment names for a scheme, whatever its exceptions say.
    package static func address(inEnvironment variable: (String) -> String?, scheme: String) -> String? {
        let names =
            ["\(scheme)_proxy"] + (scheme == "http" ? [] : ["\(scheme)_proxy".uppercased()]) + [
                "all_proxy", "ALL_PROXY",
            ]
        return names.lazy.compactMap(variable).first { !$0.isEmpty }.flatMap { address($0) }
    }

    private static let schemes: Set = ["http", "https", "socks5", "socks5h"]
}
