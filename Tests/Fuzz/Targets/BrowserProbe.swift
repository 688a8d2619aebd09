import BrowserCookies
import CLinux
import Glibc
import TransferModel

/// Databases of browsers: whatever the file contains, each row gives a cookie that has not expired or a refusal with a
/// reason, and the file does not change. Input: the database.
struct BrowserProbe: Probe {
    var read: @Sendable (Browser, String, Timestamp) throws -> BrowserCookies

    private static let now = Timestamp(milliseconds: 1_767_225_600_000)

    static let target = FuzzTarget(
        "browser-cookies",
        words: ["v10", "v11", "moz_cookies", "cookies", "example.org", ".", "\u{0}", "\u{FF}", "SQLite format 3\u{0}"],
        BrowserProbe { try BrowserCookies(of: $0, database: $1, at: $2) },
        // An expired cookie is still accepted.
        planted: BrowserProbe { browser, path, _ in
            try BrowserCookies(of: browser, database: path, at: Timestamp(milliseconds: 0))
        })

    func check(_ input: [UInt8]) throws {
        let file = dld_memory_file()
        guard file >= 0 else { return }
        defer { close(file) }
        guard write(file, input, input.count) == input.count else { return }
        for browser in Browser.allCases {
            do {
                let found = try read(browser, "/proc/self/fd/\(file)", Self.now)
                for cookie in found.cookies {
                    try hold(cookie.expires.map { $0 > Self.now } ?? true, "a cookie that has ended")
                    try hold(cookie.domain == cookie.domain.lowercased(), shown(cookie.domain))
                }
                for refusal in found.refusals { try hold(!refusal.why.isEmpty, "a refusal without a reason") }
            } catch let unreadable as BrowserCookies.Unreadable {
                try hold(!unreadable.why.isEmpty, "no reason why there is nothing")
            }
        }
        var after = [UInt8](repeating: 0, count: input.count + 1)
        let count = pread(file, &after, after.count, 0)
        try hold(Array(after.prefix(max(0, count))) == input, "the browser's own file was changed")
    }
}
