import TransferCore
import TransferModel

/// URLs of clients, and URLs that servers redirect to: a parsed URL is put together the same way again, only visible
/// ASCII is sent, and a reference leads only to the web. Whatever stands beside a URL in a field, its secrets are not
/// shown. Input: a URL, a reference or the value of a field.
struct URLProbe: Probe {
    var parse: @Sendable (String) throws -> ParsedURL

    static let target = FuzzTarget(
        "url",
        words: [
            "https://", "http://u:p@h:8080/", "ftp://", "sftp://", "file:///", "data:,", "[::1]", "%0a", "%00", "..",
            "/./",
            "?", "#", "@", ":", "//", "xn--", "\u{e4}", "\u{301}", "\u{ff0e}", "{", "%zz", "65535", "65536", "\\",
        ],
        URLProbe { (text) throws(TransferError) in try URLRules.parse(text) },
        // The path of a URL with a query loses its capitals.
        planted: URLProbe { (text) throws(TransferError) in
            var url = try URLRules.parse(text)
            if url.query != nil { url.path = url.path.lowercased() }
            return url
        })

    func check(_ input: [UInt8]) throws {
        let text = Charsets.guess(input)
        for (delimiter, holdsReferences) in [(" ", false), ("<", true), (",", false), (",", true)] {
            let value = "\(text)\(delimiter)https://u:swordfish@h/f?access_token=swordfish>, x"
            let shown = URLRules.maskingURLs(in: value, holdsReferences: holdsReferences)
            try hold(!shown.contains("swordfish"), "shown: \(shown)")
        }
        if let url = try? parse(text) {
            try hold(URLRules.lastPathComponent(text) == url.lastPathComponent, "two names of one path")
            try check(url)
        }
        guard let target = try? URLRules.resolve(text, against: "https://example.org/a/b;c?d#e") else { return }
        try hold(target.scheme == .http || target.scheme == .https, "a redirect leads to \(target.scheme)")
        try check(target)
        if !text.contains(":"), !text.hasPrefix("//"), !text.hasPrefix("\\"), !text.contains("\t") {
            let isElsewhere = target.hostKey != "https://example.org:443"
            try hold(
                !isElsewhere || text.utf8.starts(with: "//".utf8) || text.first == " ", "\(shown(text)) leads elsewhere"
            )
        }
    }

    private func check(_ url: ParsedURL) throws {
        guard url.scheme != .data else { return }
        let again = try? parse(url.requestURL)
        try hold(
            again?.requestURL == url.requestURL, "\(shown(url.requestURL)) is \(shown(again?.requestURL ?? "refused"))")
        try hold(again?.host == url.host && again?.port == url.port && again?.hostKey == url.hostKey, "another host")
        try hold(again?.path == url.path && again?.query == url.query, "another path: \(shown(url.path))")
        try hold(again?.username == nil && again?.password == nil, "credentials stay in \(shown(url.requestURL))")
        let rest = url.requestURL.utf8.dropFirst(url.schemeName.utf8.count + 3 + url.host.utf8.count)
        try hold(rest.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "not for the wire: \(shown(url.requestURL))")
        try hold(
            url.host.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"/?#@\\".utf8.contains($0) },
            "host \(shown(url.host))")
        if let name = url.lastPathComponent { try hold(!FilenameRules.sanitize(name).isEmpty, "no name") }
        _ = URLRules.redacted(url.requestURL)
    }
}
