import TransferModel

/// The parameters of `cookies.list`.
public struct ListCookies: WireObject, Hashable {
    public var session: String?
    public var domain: String?
    public var secrets: Bool?

    public init(session: String? = nil, domain: String? = nil, secrets: Bool? = nil) {
        self.session = session
        self.domain = domain
        self.secrets = secrets
    }

    public static let shape = Shape("ListCookies", Self()) { row in
        row("session", \.session, sessionOfCookies)
        row("domain", \.domain, "Only cookies of this domain and the names below it.")
        row("secrets", \.secrets, "True: cookies have their `value`.")
    }
}

public struct ListedCookies: WireObject, Hashable {
    public var cookies: [CookieView]

    public init(cookies: [CookieView]) { self.cookies = cookies }

    public static let shape = Shape("Cookies", Self(cookies: [])) { row in
        row("cookies", \.cookies, "The cookies that have not expired.")
    }
}

public struct SetCookies: WireObject, Hashable {
    public var session: String?
    public var cookies: [Cookie]

    public init(session: String? = nil, cookies: [Cookie]) {
        self.session = session
        self.cookies = cookies
    }

    public static let shape = Shape("SetCookies", Self(cookies: [])) { row in
        row("session", \.session, sessionOfCookies)
        row("cookies", \.cookies, "Up to \(Bounds.cookies).")
    }
}

public struct StoredCookies: WireObject, Hashable {
    public var set: Int
    public var replaced: Int?
    public var unchanged: Int?
    public var expired: Int?
    public var evicted: Int?

    public init(
        set: Int, replaced: Int? = nil, unchanged: Int? = nil, expired: Int? = nil, evicted: Int? = nil
    ) {
        self.set = set
        self.replaced = replaced
        self.unchanged = unchanged
        self.expired = expired
        self.evicted = evicted
    }

    public static let shape = Shape("StoredCookies", Self(set: 0)) { row in
        row("set", \.set, "Number of cookies in the call.")
        row("replaced", \.replaced, "Of these, those in whose place another one was stored before.")
        row("unchanged", \.unchanged, "Of these, those that were stored before, just as they are.")
        row("expired", \.expired, "Of these, those that have expired and are not stored.")
        row(
            "evicted", \.evicted,
            "Number of cookies, of these and of those stored before, that gave way to others: \(Bounds.cookies) are kept, and \(Bounds.cookiesOfDomain) of a registered domain with the names below it."
        )
    }
}

public struct RemoveCookies: WireObject, Hashable {
    public var session: String?
    public var domain: String?
    public var path: String?
    public var name: String?

    public init(session: String? = nil, domain: String? = nil, path: String? = nil, name: String? = nil) {
        self.session = session
        self.domain = domain
        self.path = path
        self.name = name
    }

    public static let shape = Shape("RemoveCookies", Self()) { row in
        row("session", \.session, sessionOfCookies)
        row("domain", \.domain, "Only cookies of this domain and the names below it.")
        row("path", \.path, "Only cookies with exactly this path.")
        row("name", \.name, "Only cookies with this name.")
    }
}

public struct RemovedCookies: WireObject, Hashable {
    public var removed: Int

    public init(removed: Int) { self.removed = removed }

    public static let shape = Shape("RemovedCookies", Self(removed: 0)) { row in
        row("removed", \.removed, "Number of removed cookies.")
    }
}

private let sessionOfCookies =
    "A session whose `httpCookieStorage` is `session`, for its own cookies, or `shared`, for those of the user; default: the latter."
