import TransferModel

/// A browser whose cookies can be read, from a copy of its database, while it may be running.
package enum Browser: String, CaseIterable, Sendable {
    case firefox, chromium
}

/// The cookies of a profile, and why some could not be read.
package struct BrowserCookies: Sendable, Hashable {
    package struct Refusal: Sendable, Hashable {
        package var domain: String
        package var name: String
        package var why: String
        /// It could be read, but is over.
        package var isExpired = false
    }

    /// Why nothing can be read.
    package struct Unreadable: Error, Hashable {
        package var why: String
    }

    package var cookies: [Cookie] = []
    package var refusals: [Refusal] = []

    /// - Parameters:
    ///   - profile: a name, or a path that contains a slash; nil for the browser's own choice.
    ///   - environment: names the folders in which the browsers keep their profiles (`HOME`, `XDG_CONFIG_HOME`).
    package init(
        of browser: Browser, profile: String? = nil, environment: [String: String], at now: Timestamp
    ) throws(Unreadable) {
        let profiles = Profiles(environment)
        let file =
            switch browser {
            case .firefox: try profiles.firefox(profile) + "/cookies.sqlite"
            case .chromium: try profiles.chromium(profile)
            }
        try self.init(of: browser, database: file, at: now)
    }

    /// - Parameter path: the path of the browser's database.
    package init(of browser: Browser, database path: String, at now: Timestamp) throws(Unreadable) {
        let copy = try DatabaseCopy(of: path)
        switch browser {
        case .firefox: try self.init(copy, FirefoxRow.query, now) { FirefoxRow($0).cookie }
        case .chromium:
            let version = copy.version
            try self.init(copy, ChromiumRow.query, now) { ChromiumRow($0, version).cookie }
        }
    }

    private init(
        _ copy: DatabaseCopy, _ query: String, _ now: Timestamp,
        read: (DatabaseCopy.Row) -> Result<Cookie, CookieRefusal>
    ) throws(Unreadable) {
        try copy.rows(query) { row in
            let (domain, name) = (row.text(0), row.text(1))
            switch read(row) {
            case .success(let cookie) where cookie.expires.map({ $0 <= now }) ?? false:
                refusals.append(Refusal(domain: domain, name: name, why: "it has expired", isExpired: true))
            case .success(let cookie): cookies.append(cookie)
            case .failure(let refusal): refusals.append(Refusal(domain: domain, name: name, why: refusal.why))
            }
        }
    }
}

struct CookieRefusal: Error {
    var why: String
}
