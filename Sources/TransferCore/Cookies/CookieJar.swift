import TransferModel

/// A cookie store as a value (RFC 6265bis sections 5.7 and 5.8): what a field sets, what a request carries, what is
/// evicted.
package struct CookieJar: Sendable {
    /// A cookie and its order among the others.
    struct Entry: Sendable {
        var cookie: Cookie
        /// Increases with each cookie; a cookie that replaces another keeps its number.
        var created: Int64
        var used: Int64
    }

    /// What a change did, for code that keeps a copy.
    package enum Change: Sendable, Hashable {
        /// - Parameter old: the cookie that it replaces.
        case stored(Cookie, created: Int64, old: Cookie?)
        case removed(Cookie.Identity)

        package var key: Cookie.Identity {
            switch self {
            case .stored(let cookie, created: _, old: _): cookie.key
            case .removed(let key): key
            }
        }
    }

    private var sites: [String: [Entry]] = [:]
    private var clock: Int64 = 0
    private let most: Int
    package private(set) var count = 0

    package init(most: Int = Bounds.cookies) { self.most = most }

    package var isEmpty: Bool { count == 0 }

    /// Every cookie, in the order of creation.
    package var all: [Cookie] { sites.values.joined().sorted { $0.created < $1.created }.map(\.cookie) }

    /// The approximate memory that it takes.
    package var bytes: Int {
        sites.values.joined().reduce(0) { sum, entry in
            let cookie = entry.cookie
            return sum + 128 + cookie.name.utf8.count + cookie.value.utf8.count + cookie.domain.utf8.count
                + cookie.path.utf8.count
        }
    }

    // MARK: Set

    /// Stores the cookie of a Set-Cookie field, if the server may set it (section 5.7).
    /// - Returns: what changed; empty if the field is ignored.
    package mutating func receive(_ field: String, from url: CookieURL, at now: Timestamp) -> [Change] {
        guard let set = SetCookie(field, at: now), let cookie = Self.cookie(set, from: url) else { return [] }
        if !cookie.secure, !url.isSecure, overlaysSecure(cookie) { return [] }
        return put(cookie, at: now)
    }

    /// Steps 7 to 15 and 17 to 22; nil for a cookie that the server must not set.
    private static func cookie(_ set: SetCookie, from url: CookieURL) -> Cookie? {
        var domain = set.domain
        guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        if PublicSuffixes.contains(domain) {
            guard domain == url.host else { return nil }
            domain = ""
        }
        guard domain.isEmpty || HostName.matches(url.host, domain: domain) else { return nil }
        let cookie = Cookie(
            name: set.name, value: set.value, domain: domain.isEmpty ? url.host : domain,
            path: set.path ?? url.defaultPath, expires: set.expires, secure: set.secure, httpOnly: set.httpOnly,
            sameSite: set.sameSite, hostOnly: domain.isEmpty)
        guard !cookie.secure || url.isSecure, keepsPrefix(cookie, namesPath: set.path != nil) else { return nil }
        return cookie
    }

    /// Step 19, and section 5.4: what a name prefix requires, and names that must not imitate a prefix.
    package static func keepsPrefix(_ cookie: Cookie, namesPath: Bool = true) -> Bool {
        if cookie.sameSite == Cookie.SameSite.none, !cookie.secure { return false }
        let name = (cookie.name.isEmpty ? cookie.value : cookie.name).lowercased()
        let (isSecure, isHost) = (name.hasPrefix("__secure-"), name.hasPrefix("__host-"))
        if cookie.name.isEmpty { return !isSecure && !isHost }
        if isSecure { return cookie.secure }
        return !isHost || cookie.secure && cookie.hostOnly && cookie.path == "/" && namesPath
    }

    /// Step 16: a cookie from an unencrypted connection must not hide one that was set over an encrypted connection.
    private func overlaysSecure(_ cookie: Cookie) -> Bool {
        sites[PublicSuffixes.site(of: cookie.domain)]?.contains { entry in
            let old = entry.cookie
            return old.secure && old.name == cookie.name
                && (HostName.matches(cookie.domain, domain: old.domain)
                    || HostName.matches(old.domain, domain: cookie.domain))
                && CookieURL.path(cookie.path, matches: old.path)
        } ?? false
    }

    /// Stores a cookie in place of one with the same key; an expired cookie only removes it. An address has no names
    /// below it, so its cookies are for the host alone.
    package mutating func put(_ given: Cookie, at now: Timestamp) -> [Change] {
        var cookie = given
        cookie.domain = HostName.ofCookie(given.domain)
        cookie.hostOnly = given.hostOnly || HostName.isAddress(given.domain)
        let site = PublicSuffixes.site(of: cookie.domain)
        var changes = evictExpired(of: site, at: now)
        let old = sites[site]?.firstIndex { $0.cookie.key == cookie.key }
        if let end = cookie.expires, end <= now {
            if let old { changes.append(remove(old, of: site)) }
            return changes
        }
        clock += 1
        let created = old.map { sites[site, default: []][$0].created } ?? clock
        let replaced = old.map { sites[site, default: []][$0].cookie }
        let entry = Entry(cookie: cookie, created: created, used: clock)
        if let old { sites[site, default: []][old] = entry } else { sites[site, default: []].append(entry) }
        if old == nil { count += 1 }
        changes.append(.stored(cookie, created: created, old: replaced))
        return changes + evictExcess(of: site, at: now)
    }

    /// The cookie with this key, and its creation order.
    package func entry(_ key: Cookie.Identity) -> (cookie: Cookie, created: Int64)? {
        sites[PublicSuffixes.site(of: key.domain)]?.first { $0.cookie.key == key }.map { ($0.cookie, $0.created) }
    }

    /// Puts back a cookie that was stored before.
    package mutating func restore(_ cookie: Cookie, created: Int64) {
        sites[PublicSuffixes.site(of: cookie.domain), default: []].append(
            Entry(cookie: cookie, created: created, used: created))
        clock = max(clock, created)
        count += 1
    }

    // MARK: Give way

    /// Removes cookies beyond the bounds.
    ///
    /// If a site exceeds its bound, its cookies that are not `Secure` are removed first. All names below a site share
    /// the bound, so inventing names is useless. If the bound of all cookies is exceeded, expired cookies are removed
    /// first, then cookies of the site with the most. Among these, the least recently used cookie is removed. This is
    /// the order of the section, except that one site cannot displace another site's cookies.
    private mutating func evictExcess(of site: String, at now: Timestamp) -> [Change] {
        var changes: [Change] = []
        while let entries = sites[site], entries.count > Bounds.cookiesOfDomain {
            changes.append(remove(Self.first(of: entries), of: site))
        }
        if count > most { changes += expire(at: now) }
        while count > most, let change = giveOneUp() { changes.append(change) }
        return changes
    }

    /// Removes the cookie that is evicted next; nil if there is none.
    package mutating func giveOneUp() -> Change? {
        let largest = sites.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }
        return largest.map { remove(Self.first(of: $0.value), of: $0.key) }
    }

    private static func first(of entries: [Entry]) -> Int {
        func rank(_ entry: Entry) -> (Int, Int64) { (entry.cookie.secure ? 1 : 0, entry.used) }
        return entries.indices.min { rank(entries[$0]) < rank(entries[$1]) } ?? entries.startIndex
    }

    private mutating func evictExpired(of site: String, at now: Timestamp) -> [Change] {
        guard let entries = sites[site] else { return [] }
        return entries.indices.reversed().compactMap { index in
            guard let end = entries[index].cookie.expires, end <= now else { return nil }
            return remove(index, of: site)
        }
    }

    private mutating func remove(_ index: Int, of site: String) -> Change {
        let key = sites[site, default: []][index].cookie.key
        sites[site, default: []].remove(at: index)
        if sites[site]?.isEmpty ?? false { sites[site] = nil }
        count -= 1
        return .removed(key)
    }

    /// Removes the cookies that satisfy `isMeant`.
    package mutating func remove(where isMeant: (Cookie) -> Bool) -> [Change] {
        var changes: [Change] = []
        for (site, entries) in sites {
            for index in entries.indices.reversed() where isMeant(entries[index].cookie) {
                changes.append(remove(index, of: site))
            }
        }
        return changes
    }

    /// Removes expired cookies.
    package mutating func expire(at now: Timestamp) -> [Change] {
        remove { $0.expires.map { $0 <= now } ?? false }
    }

    // MARK: Send

    /// The value of the Cookie field for a request; nil if the request gets none (section 5.8.3). Cookies that do not
    /// fit into `Bounds.cookieField` are left out, those with the shortest paths first.
    /// - Parameter names: names of cookies that the caller's own header gives.
    package mutating func field(
        for request: CookieRequest, at now: Timestamp, without names: Set<String> = []
    ) -> String? {
        guard !isEmpty else { return nil }
        let site = PublicSuffixes.site(of: request.url.host)
        guard let entries = sites[site] else { return nil }
        let chosen = entries.indices.filter {
            Self.belongs(entries[$0].cookie, request, now) && !names.contains(entries[$0].cookie.name)
        }.sorted { a, b in
            let (a, b) = (entries[a], entries[b])
            let (long, short) = (a.cookie.path.utf8.count, b.cookie.path.utf8.count)
            return long != short ? long > short : a.created < b.created
        }
        clock += 1
        var field = ""
        for index in chosen {
            let cookie = entries[index].cookie
            let text = cookie.name.isEmpty ? cookie.value : "\(cookie.name)=\(cookie.value)"
            guard field.utf8.count + text.utf8.count + 2 <= Bounds.cookieField else { break }
            field += field.isEmpty ? text : "; \(text)"
            sites[site, default: []][index].used = clock
        }
        return field.isEmpty ? nil : field
    }

    private static func belongs(_ cookie: Cookie, _ request: CookieRequest, _ now: Timestamp) -> Bool {
        if let end = cookie.expires, end <= now { return false }
        let url = request.url
        guard cookie.hostOnly ? cookie.domain == url.host : HostName.matches(url.host, domain: cookie.domain),
            CookieURL.path(url.path, matches: cookie.path), url.isSecure || !cookie.secure
        else { return false }
        guard request.crossedSites else { return true }
        // No page of another site began the request, so it counts as a navigation.
        switch cookie.sameSite {
        case .some(.none): return true
        case .some(.lax), nil: return request.isSafe
        case .some(.strict): return false
        }
    }
}
