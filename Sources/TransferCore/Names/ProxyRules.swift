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

    private static let schemes: Set = ["http", "https", "socks5", "socks5h"]
}
