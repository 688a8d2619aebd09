import BrowserCookies
import TransferModel

/// What `cookies import` names: a file, or a browser's profile.
enum CookieSource: Hashable {
    case file(String)
    case browser(Browser, profile: String?)

    init(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        if let browser = Browser(rawValue: parts[0]), parts.count == 1 || !parts[1].isEmpty {
            self = .browser(browser, profile: parts.count > 1 ? parts[1] : nil)
        } else {
            self = .file(text)
        }
    }

    /// Those that a server of this URL is given, by its name; the daemon looks at path and scheme.
    static func cookies(_ all: [Cookie], for url: String) -> [Cookie] {
        let bytes = url.utf8
        let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        let authority = bytes[start...].prefix { !"/?#\\".utf8.contains($0) }
        let place = Substring(
            authority.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).last ?? authority)
        let host =
            place.utf8.first == UInt8(ascii: "[")
            ? Substring(place.utf8.dropFirst().prefix { $0 != UInt8(ascii: "]") })
            : Substring(place.utf8.prefix { $0 != UInt8(ascii: ":") })
        let name = host.lowercased()
        return all.filter { name == $0.domain || !$0.hostOnly && CookieTable.isWithin(name, $0.domain) }
    }

    /// - Parameter domain: refusals of cookies of others are nobody's concern.
    /// - Returns: the cookies, and a sentence on each that cannot be read.
    /// - Throws: `CommandFailure.local` if there is nothing to be read.
    func read(_ session: CommandSession, domain: String?) throws -> (cookies: [Cookie], refusals: [String]) {
        switch self {
        case .file(let path):
            let text = String(decoding: try InputFile.read(path), as: UTF8.self)
            let contents = NetscapeCookies.parse(text, at: Timestamp.now())
            let place = path == "-" ? "standard input" : Printable.text(path)
            return (contents.cookies, contents.refusals.map { "\(place):\($0.line): \($0.why)" })
        case .browser(let browser, let profile):
            do {
                let found = try BrowserCookies(
                    of: browser, profile: profile, home: session.environment["HOME"] ?? "", at: Timestamp.now())
                let refusals = found.refusals.filter { refusal in
                    let host = refusal.domain.hasPrefix(".") ? String(refusal.domain.dropFirst()) : refusal.domain
                    return CookieTable.isWithin(host, domain)
                }
                return (
                    found.cookies,
                    refusals.map {
                        "\(Printable.text($0.domain)) \(Printable.text($0.name)): \(Printable.text($0.why))"
                    }
                )
            } catch {
                throw CommandFailure.local("\(browser.rawValue): \(Printable.text(error.why))")
            }
        }
    }
}
