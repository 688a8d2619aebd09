import TransferModel
import dlctl

/// Cookie files: each line gives a cookie, a refusal with its line number, or nothing, and a written file is read back.
struct NetscapeProbe: Probe {
    var parse: @Sendable (String, Timestamp) -> NetscapeCookies.Contents

    private static let now = Timestamp(milliseconds: 1_767_225_600_000)

    static let target = FuzzTarget(
        "netscape-cookies",
        words: [
            "\t", "\n", "\r\n", "#HttpOnly_", "#", ".example.org", "TRUE", "FALSE", "/", "0", "2000000000", "-1",
            "1e300",
            "nan", "name", "value", "\u{301}", "\u{0}", " ",
        ],
        NetscapeProbe { NetscapeCookies.parse($0, at: $1) },
        // The mark for httpOnly is taken as part of the domain.
        planted: NetscapeProbe { text, now in
            var contents = NetscapeCookies.parse(text, at: now)
            for index in contents.cookies.indices where contents.cookies[index].httpOnly {
                contents.cookies[index].domain = "#HttpOnly_" + contents.cookies[index].domain
            }
            return contents
        })

    func check(_ input: [UInt8]) throws {
        let text = String(decoding: input, as: UTF8.self)
        let contents = parse(text, Self.now)
        let lines = text.utf8.count { $0 == 10 } + 1
        try hold(contents.cookies.count + contents.refusals.count <= lines, "more cookies than lines")
        for refusal in contents.refusals {
            try hold((1...lines).contains(refusal.line) && !refusal.why.isEmpty, "line \(refusal.line) of \(lines)")
        }
        for cookie in contents.cookies {
            try hold(
                !cookie.domain.isEmpty && cookie.path.hasPrefix("/"), "\(shown(cookie.domain))\(shown(cookie.path))")
            try hold(cookie.expires.map { $0 > Self.now } ?? true, "a cookie that has ended")
        }
        let again = parse(NetscapeCookies.text(contents.cookies), Self.now)
        try hold(again.cookies == contents.cookies && again.refusals.isEmpty, "what is written is not read back")
    }
}
