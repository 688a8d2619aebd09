import TransferModel

/// The cookies of the asking user.
public enum ListCookies: RPCMethod {
    public static let name = "cookies.list"
    public static let summary =
        "The caller's own cookies, in the order in which they were set. Only `secrets` adds `value`."
    public static let errors: [ErrorCode] = [.badField, .sessionNotFound, .sessionInUse]

    public struct Parameters: WireObject, Hashable {
        public var session: String?
        public var domain: String?
        public var secrets: Bool?

        public init(session: String? = nil, domain: String? = nil, secrets: Bool? = nil) {
            self.session = session
            self.domain = domain
            self.secrets = secrets
        }

        public static let shape = Shape("ListCookies", Self()) { row in
            row("session", \.session, CookieText.session)
            row("domain", \.domain, "Only cookies of this domain and the names below it.")
            row("secrets", \.secrets, "True: cookies have their `value`.")
        }
    }

    public struct Result: WireObject, Hashable {
        public var cookies: [CookieView]

        public init(cookies: [CookieView]) { self.cookies = cookies }

        public static let shape = Shape("Cookies", Self(cookies: [])) { row in
            row("cookies", \.cookies, "The cookies that have not expired.")
        }
    }
}

/// Stores cookies of the asking user.
public enum SetCookies: RPCMethod {
    public static let name = "cookies.set"
    public static let summary =
        """
        Stores cookies of the caller. Each replaces the one with the same name, domain, path and `hostOnly`; an expired one \
        only removes it. If one is refused, none is stored. Durable when it returns, except in a volatile session. If the store \
        fails, the cookies are in force, and are stored when the disk works again. No cookie lives longer than 400 days.
        """
    public static let errors: [ErrorCode] = [.badField, .sessionNotFound, .sessionInUse, .diskFull, .diskIO]

    public struct Parameters: WireObject, Hashable {
        public var session: String?
        public var cookies: [Cookie]

        public init(session: String? = nil, cookies: [Cookie]) {
            self.session = session
            self.cookies = cookies
        }

        public static let shape = Shape("SetCookies", Self(cookies: [])) { row in
            row("session", \.session, CookieText.session)
            row("cookies", \.cookies, "Up to \(Bounds.cookies).")
        }
    }

    public struct Result: WireObject, Hashable {
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
}

/// Removes cookies of the asking user.
public enum RemoveCookies: RPCMethod {
    public static let name = "cookies.remove"
    public static let summary =
        "Removes the caller's cookies that match every given parameter; without any, all of them. Durable when it returns."
    public static let errors: [ErrorCode] = [.badField, .sessionNotFound, .sessionInUse, .diskFull, .diskIO]

    public struct Parameters: WireObject, Hashable {
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
            row("session", \.session, CookieText.session)
            row("domain", \.domain, "Only cookies of this domain and the names below it.")
            row("path", \.path, "Only cookies with exactly this path.")
            row("name", \.name, "Only cookies with this name.")
        }
    }

    public struct Result: WireObject, Hashable {
        public var removed: Int

        public init(removed: Int) { self.removed = removed }

        public static let shape = Shape("RemovedCookies", Self(removed: 0)) { row in
            row("removed", \.removed, "Number of removed cookies.")
        }
    }
}

enum CookieText {
    static let session =
        "A session whose `httpCookieStorage` is `session`, for its own cookies, or `shared`, for those of the user; default: the latter."
}
