import BrowserCookies
import TransferModel

/// The argument of `cookies import`: a file, or a browser's profile.
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

    /// The cookies for the host of this URL. The daemon checks path and scheme.
    static func cookies(_ all: [Cookie], for url: String) -> [Cookie] {
        let name = URLText.host(url)
        return all.filter { name == $0.domain || !$0.hostOnly && Cookie.isWithin(name, $0.domain) }
    }

    /// The cookies that were read, and how each is named to the user.
    struct Contents {
        var cookies: [Cookie] = []
        /// One sentence for each cookie that cannot be read, or has expired.
        var refusals: [String] = []
        /// How many of these have expired.
        var expired = 0
        /// The line of each cookie from a file.
        fileprivate var places: [Cookie: String] = [:]

        /// One sentence about a cookie that the daemon refuses.
        /// - Parameter error: its message has the reason after the name of a field.
        func refusal(of cookie: Cookie, _ error: TransferError) -> String {
            let place = places[cookie].map { $0 + ": " } ?? ""
            return place + "\(Printable.text(cookie.domain)) \(Printable.text(cookie.name)): "
                + cookie.reason(error)
        }
    }

    /// - Parameter domain: refusals of cookies of other domains are not reported.
    /// - Throws: `CommandFailure` if there is nothing to read, or if the file is of another kind.
    func read(_ session: CommandSession, domain: String?) throws -> Contents {
        switch self {
        case .file(let path):
            let contents = NetscapeCookies.parse(Array(try InputFile.read(path)), at: Timestamp.now())
            let place = path == "-" ? "standard input" : Printable.text(path)
            if contents.isOther, let first = contents.refusals.first {
                throw CommandFailure.usage(
                    "\(place) is not a file of cookies in Netscape format: line \(first.line): \(first.why)")
            }
            let places = zip(contents.cookies, contents.lines).map { ($0, "\(place):\($1)") }
            return Contents(
                cookies: contents.cookies,
                refusals: contents.refusals.map { refusal in
                    let name = refusal.name.map { Printable.text($0) + ": " } ?? ""
                    return "\(place):\(refusal.line): \(name)\(refusal.why)"
                }, expired: contents.refusals.count { $0.isExpired }, places: Dictionary(places) { first, _ in first })
        case .browser(let browser, let profile):
            do {
                let found = try BrowserCookies(
                    of: browser, profile: profile, environment: session.environment, at: Timestamp.now())
                let refusals = found.refusals.filter { refusal in
                    let host = refusal.domain.hasPrefix(".") ? String(refusal.domain.dropFirst()) : refusal.domain
                    return Cookie.isWithin(host, domain)
                }
                return Contents(
                    cookies: found.cookies,
                    refusals: refusals.map {
                        "\(Printable.text($0.domain)) \(Printable.text($0.name)): \(Printable.text($0.why))"
                    }, expired: refusals.count { $0.isExpired })
            } catch {
                throw CommandFailure.local("\(browser.rawValue): \(Printable.text(error.why))")
            }
        }
    }
}

extension Cookie {
    /// Explains in users' words why the daemon refuses the cookie.
    func reason(_ error: TransferError) -> String {
        let field = error.details["field"]?.stringValue ?? ""
        let isNamed = !field.isEmpty && error.message.hasPrefix("\(field): ")
        let why = isNamed ? String(error.message.dropFirst(field.count + 2)) : error.message
        guard !hostOnly, field.hasSuffix(".domain") else { return CommandWords.text(why) }
        if why.contains("public suffix") {
            return
                "it is for all of \(Printable.text(domain)), where many sites are; no site may set such a cookie"
        }
        if why.contains("address") { return "it is for names below an address, which has none" }
        return CommandWords.text(why)
    }

    /// The index of the cookie that a field names, as in `tasks[0].cookies[7].domain`.
    /// - Parameter prefix: the text before `cookies`.
    static func index(in field: String, after prefix: String = "") -> Int? {
        let start = prefix + "cookies["
        guard field.hasPrefix(start) else { return nil }
        return Int(field.dropFirst(start.count).prefix { $0 != "]" })
    }
}
