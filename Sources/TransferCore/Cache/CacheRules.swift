import TransferModel

/// Which answers a private cache may keep, and which of its own it must drop (RFC 9111 sections 3 and 4.4).
package enum CacheRules {
    /// Statuses that may be kept even if the server does not say so (RFC 9110 section 15.1), except 206.
    package static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Statuses that are kept if the server says so. Not 206, which is incomplete (section 3.3); not redirects, which
    /// are followed anew; not 304; not 401 and 407, which are for requests without credentials.
    package static func isKept(_ status: Int) -> Bool {
        switch status {
        case 206, 401, 407: false
        case 300: true
        case 200..<300, 400..<600: true
        default: false
        }
    }

    /// Statuses whose own caching rules are known here (`must-understand`, section 5.2.2.3).
    static func isUnderstood(_ status: Int) -> Bool { isHeuristicallyCacheable(status) }

    /// Whether the answer to a GET may be stored (section 3).
    /// - Parameter request: directives of the request.
    package static func isStorable(_ head: ResponseHead, request: CacheControl) -> Bool {
        guard let status = head.status, isKept(status), !request.noStore else { return false }
        let directives = CacheControl(head.values("cache-control"))
        if directives.mustUnderstand {
            guard isUnderstood(status) else { return false }
        } else if directives.noStore {
            return false
        }
        return directives.isPublic || directives.isPrivate || directives.maxAge != nil
            || head.headers.firstIndex(named: "expires") != nil || isHeuristicallyCacheable(status)
    }

    /// The head as it is stored: without fields of the connection (section 3.1).
    package static func kept(_ headers: [HeaderField]) -> [HeaderField] {
        let named = headers.values(named: "connection").flatMap {
            $0.split(separator: ",").map { String($0).trimmed }
        }
        return headers.filter { field in
            !isOfConnection(field) && !named.contains { field.isNamed($0) }
        }
    }

    static func isOfConnection(_ field: HeaderField) -> Bool {
        connection.contains { field.isNamed($0) }
    }

    private static let connection = [
        "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
        "proxy-authentication-info", "proxy-authorization", "trailer",
    ]

    /// The URLs whose answers are dropped after this answer to an unsafe request (section 4.4): the request's own URL,
    /// and those of the same origin in Location and Content-Location.
    /// - Parameter url: the requested URL, as a key of the cache.
    package static func invalidated(by head: ResponseHead, method: String, url: String) -> [String] {
        guard !isSafe(method), let status = head.status, (200..<400).contains(status) else { return [] }
        guard let own = try? URLRules.parse(url) else { return [url] }
        let named = (head.values("location") + head.values("content-location")).compactMap {
            try? URLReference.resolve($0, against: url)
        }
        return [own.requestURL] + named.filter { $0.hostKey == own.hostKey && !$0.host.isEmpty }.map(\.requestURL)
    }

    /// RFC 9110 section 9.2.1; a method that is not known is not safe.
    package static func isSafe(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH"].contains(method.uppercased())
    }
}
