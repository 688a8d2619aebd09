import TransferCore
import TransferModel

/// Where a task's cookies are kept. Called on the reactor's thread; must not block.
package protocol CookieKeeping: AnyObject, Sendable {
    /// The cookies of a request, in the form of its Cookie field; nil if it has none.
    /// - Parameter names: names of cookies that the caller's own header gives.
    func field(for request: @autoclosure () -> CookieRequest, without names: @autoclosure () -> Set<String>) -> String?
    /// The values of the Set-Cookie fields of one response.
    func receive(_ fields: [String], from url: CookieURL)
}

extension Transfer {
    /// Chooses the cookies of the request that is about to be sent; each redirect's target gets its own.
    func chooseCookies() {
        guard let cookies = context.cookies, isHTTP else { return }
        noteSites()
        request.storedCookies = cookies.field(
            for: CookieRequest(request.cookieURL, isSafe: request.isSafe, crossedSites: crossedSites),
            without: request.headers.namesOfCookies)
        if request.redirects == 0 { context.observer.transferSends(cookies: request.storedCookies) }
    }

    /// Notes whether a redirect has led to another site; called with the request that goes there.
    func noteSites() { crossedSites = crossedSites || request.isForeign && hasCrossedSites }

    /// Whether the request goes to another site than the exchange's URL.
    private var hasCrossedSites: Bool {
        guard let first = CurlURL(exchange.url) else { return true }
        return PublicSuffixes.site(of: first.host) != PublicSuffixes.site(of: request.url.host)
    }

    /// Keeps the cookies of a response whose header is complete. Those of a proxy are not the server's. If there are
    /// more fields than cookies that one domain may have, the last ones count.
    func keepCookies() {
        guard let cookies = context.cookies, parser.status != 407, isHTTP,
            parser.headers.firstIndex(named: "set-cookie") != nil
        else { return }
        let fields = parser.setCookies.suffix(Bounds.cookiesOfDomain)
        cookies.receive(Array(fields), from: request.cookieURL)
    }
}

extension RequestState {
    /// Its method changes nothing on the server (RFC 9110 section 9.2.1).
    var isSafe: Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(effectiveMethod) }

    var cookieURL: CookieURL { CookieURL(host: url.host, text: url.text, isSecure: url.scheme == "https") }
}

extension [HeaderField] {
    /// Names in the caller's Cookie fields.
    package var namesOfCookies: Set<String> {
        Set(
            values(named: "cookie").flatMap { $0.split(separator: ";") }.compactMap { pair in
                let name = pair.utf8.prefix { $0 != UInt8(ascii: "=") }.drop { $0 == 0x20 || $0 == 0x09 }
                return name.endIndex == pair.endIndex ? nil : String(Substring(name))
            })
    }
}
