import Threading
import TransferModel
import TransferRPC

/// The cookies of the user (`shared`), or of one session. The daemon has them; this is a copy. Only the first access waits
/// for the daemon.
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
    private struct Values: Sendable {
        var cookies: [HTTPCookie] = []
        var policy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
        var isLoaded = false
        var refreshed = Date.distantPast
        /// When each cookie came to be known.
        var known: [String: Date] = [:]
    }

    open class var shared: HTTPCookieStorage { common }
    private static let common = HTTPCookieStorage(link: .user)
    private static let groups = Guarded<[String: HTTPCookieStorage]>([:])

    private let values = Guarded(Values())
    let link: StoreLink

    private init(link: StoreLink) { self.link = link }
    /// A session's own, in memory.
    convenience init(ofSession _: String?) {
        self.init(link: StoreLink())
        values.withLock { $0.isLoaded = true }
    }

    /// One storage for each identifier, in memory.
    open class func sharedCookieStorage(forGroupContainerIdentifier identifier: String) -> HTTPCookieStorage {
        groups.withLock { groups in
            if let known = groups[identifier] { return known }
            let made = HTTPCookieStorage(ofSession: identifier)
            groups[identifier] = made
            return made
        }
    }

    var isShared: Bool { self === Self.common }

    /// A session uses it from now on: it gets the cookies that were set before.
    func attach(_ core: SessionCore) {
        guard !isShared else { return }
        link.attach(core)
        let cookies = values.withLock { $0.cookies }
        if !cookies.isEmpty { link.change(Methods.setCookies) { .init(session: $0, cookies: cookies.map(\.sent)) } }
    }

    /// Takes the daemon's cookies over, and tells of changes.
    func refresh(_ done: @escaping @Sendable () -> Void = {}) {
        link.read(Methods.listCookies, { .init(session: $0, secrets: true) }) { [self] result in
            defer { done() }
            guard let result else { return }
            let listed = result.cookies.compactMap(HTTPCookie.init(listed:))
            let isChanged = values.withLock { values in
                values.refreshed = Date()
                // Cookies are equal if they are the same object: what has not changed stays the object that was set.
                let own = Dictionary(values.cookies.map { ($0.sent, $0) }) { first, _ in first }
                let cookies = listed.map { own[$0.sent] ?? $0 }
                defer { (values.cookies, values.isLoaded) = (cookies, true) }
                for cookie in cookies where values.known[cookie.key] == nil { values.known[cookie.key] = Date() }
                return values.isLoaded && Set(values.cookies) != Set(cookies)
            }
            if isChanged { tell() }
        }
    }

    private func tell() {
        NotificationCenter.default.post(name: .NSHTTPCookieManagerCookiesChanged, object: self)
    }

    private func load() {
        let (isLoaded, isOld) = values.withLock { ($0.isLoaded, $0.refreshed.timeIntervalSinceNow < -1) }
        if !isLoaded { waitBriefly { refresh($0) } } else if isOld, isShared { refresh() }
    }

    open var cookies: [HTTPCookie]? {
        load()
        return values.withLock { $0.cookies.filter { ($0.expiresDate ?? .distantFuture) > Date() } }
    }

    open func setCookie(_ cookie: HTTPCookie) { set([cookie]) }

    /// Takes the cookies that the URL's host may set.
    open func setCookies(_ cookies: [HTTPCookie], for url: URL?, mainDocumentURL: URL?) {
        let policy = cookieAcceptPolicy
        guard policy != .never, let host = url?.host?.lowercased() else { return }
        if policy == .onlyFromMainDocumentDomain, let main = mainDocumentURL?.host?.lowercased(),
            main != host, !main.hasSuffix("." + host)
        {
            return
        }
        set(cookies.filter { $0.mayBeSet(by: host) })
    }

    open func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
        setCookies(cookies, for: task.currentRequest?.url, mainDocumentURL: task.currentRequest?.mainDocumentURL)
    }

    private func set(_ cookies: [HTTPCookie]) {
        guard !cookies.isEmpty else { return }
        load()
        values.withLock { values in
            for cookie in cookies {
                values.cookies.removeAll { $0.key == cookie.key }
                values.known[cookie.key] = Date()
                if (cookie.expiresDate ?? .distantFuture) > Date() { values.cookies.append(cookie) }
            }
        }
        link.change(Methods.setCookies) { .init(session: $0, cookies: cookies.map(\.sent)) }
        tell()
    }

    open func deleteCookie(_ cookie: HTTPCookie) {
        load()
        let wasThere = values.withLock { values in
            let count = values.cookies.count
            values.cookies.removeAll { $0.key == cookie.key }
            return values.cookies.count < count
        }
        guard wasThere else { return }
        link.change(Methods.removeCookies) {
            .init(session: $0, domain: cookie.plainDomain, path: cookie.path, name: cookie.name)
        }
        tell()
    }

    /// Removes cookies that came to be known after this date.
    open func removeCookies(since date: Date) {
        load()
        for cookie in values.withLock({ values in values.cookies.filter { values.known[$0.key] ?? .now >= date } }) {
            deleteCookie(cookie)
        }
    }

    open func cookies(for url: URL) -> [HTTPCookie]? {
        guard let host = url.host?.lowercased() else { return nil }
        return cookies?.filter { cookie in
            cookie.matches(host: host) && cookie.matches(path: url.path.isEmpty ? "/" : url.path)
                && (!cookie.isSecure || url.scheme == "https")
        }
    }

    open func getCookiesFor(_ task: URLSessionTask, completionHandler: @Sendable @escaping ([HTTPCookie]?) -> Void) {
        let url = task.currentRequest?.url
        refresh { [self] in completionHandler(url.flatMap { cookies(for: $0) }) }
    }

    open func sortedCookies(using sortOrder: [NSSortDescriptor]) -> [HTTPCookie] {
        guard !sortOrder.isEmpty else { return cookies ?? [] }
        return NSArray(array: cookies ?? []).sortedArray(using: sortOrder).compactMap { $0 as? HTTPCookie }
    }

    open override var description: String { "<NSHTTPCookieStorage cookies count:\(cookies?.count ?? 0)>" }

    open var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { values.withLock { $0.policy } }
        set { values.withLock { $0.policy = newValue } }
    }
}

extension HTTPCookie {
    fileprivate var plainDomain: String { domain.hasPrefix(".") ? String(domain.dropFirst()) : domain }
    fileprivate var key: String { "\(name)\n\(plainDomain.lowercased())\n\(path)" }
    fileprivate func matches(host: String) -> Bool {
        let domain = plainDomain.lowercased()
        return host == domain || self.domain.hasPrefix(".") && host.hasSuffix("." + domain)
    }
    /// A host sets cookies for itself and for the domains above it.
    fileprivate func mayBeSet(by host: String) -> Bool {
        let domain = plainDomain.lowercased()
        return host == domain || host.hasSuffix("." + domain)
    }
    /// RFC 6265bis section 5.1.4.
    fileprivate func matches(path: String) -> Bool {
        path == self.path
            || path.hasPrefix(self.path) && (self.path.hasSuffix("/") || path.dropFirst(self.path.count).first == "/")
    }

    fileprivate var sent: Cookie {
        Cookie(
            name: name, value: value, domain: plainDomain.lowercased(), path: path,
            expires: expiresDate.map(Mapping.time),
            secure: isSecure, httpOnly: isHTTPOnly, hostOnly: !domain.hasPrefix("."))
    }

    fileprivate convenience init?(listed cookie: CookieView) {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name, .value: cookie.value ?? "", .path: cookie.path,
            .domain: cookie.hostOnly ? cookie.domain : "." + cookie.domain,
        ]
        if let expires = cookie.expires {
            properties[.expires] = Date(timeIntervalSince1970: Double(expires.rawValue) / 1000)
        }
        if cookie.secure { properties[.secure] = "TRUE" }
        self.init(properties: properties)
    }
}
