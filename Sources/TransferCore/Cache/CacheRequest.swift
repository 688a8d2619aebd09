import TransferModel

/// The cache's rules for one request: whether a stored answer may be used, how it is validated, and what is stored of
/// the server's answer (RFC 9111 section 4).
package struct CacheRequest: Sendable {
    /// The requested URL without user info and fragment: the key of stored answers.
    package let url: String
    package let policy: RequestCachePolicy
    /// The fields that Vary may name, as they are sent.
    package let fields: [HeaderField]
    package let directives: CacheControl
    /// Identifies the credentials of the request; nil if there are none. Answers are used again for the same
    /// credentials only, and are kept in memory only.
    package let credentials: String?

    /// nil if the cache is not used: for a request that is not a plain GET, or that has its own range or conditions, or
    /// `no-store` (section 5.2.1.5).
    /// - Parameters:
    ///   - defaults: fields that the engine adds if the request has none of their name.
    ///   - cookies: the Cookie field that will be sent, if it is not of the owner's shared cookies.
    package init?(
        _ exchange: Exchange, _ policy: RequestCachePolicy, defaults: [HeaderField] = [], cookies: String? = nil
    ) {
        let own = exchange.allHeaders
        guard exchange.kind == .request, exchange.method?.uppercased() ?? "GET" == "GET", exchange.payload == .none,
            !own.contains(where: { field in Self.conditions.contains { field.isNamed($0) } })
        else { return nil }
        // The engine refuses such a URL, so the cache must not answer it either.
        guard
            !exchange.$network.wrappedValue.mayRefusePlaintext
                || (try? URLRules.parse(exchange.url)).map({ exchange.$network.allowsHop(to: $0) }) == true
        else { return nil }
        var directives = CacheControl(own.values(named: "cache-control"))
        // Section 5.4: without Cache-Control.
        if own.firstIndex(named: "cache-control") == nil,
            own.values(named: "pragma").contains(where: { $0.lowercased().contains("no-cache") })
        {
            directives.noCache = true
        }
        guard !directives.noStore else { return nil }
        self.directives = directives
        self.policy = policy
        url = exchange.url
        var fields = own + defaults.filter { own.firstIndex(named: $0.name) == nil }
        if exchange.decodesBody {
            fields.removeAll { $0.isNamed("accept-encoding") }
            fields.append(HeaderField("Accept-Encoding", Self.decoded))
        }
        self.fields = fields
        credentials = Self.credentials(exchange, own, cookies)
    }

    /// Stands for the codings that the daemon asks for and decodes. No caller can send this value, so decoded and coded
    /// bodies are never confused.
    private static let decoded = "\u{1}decoded"

    private static let conditions = [
        "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    ]

    /// Everything in the request that identifies the caller, and the decisions about this server. An answer that
    /// depends on them must not be used for others.
    private static func credentials(_ exchange: Exchange, _ headers: [HeaderField], _ cookies: String?) -> String? {
        let network = exchange.network
        var parts = headers.values(named: "authorization") + exchange.headers.values(named: "cookie")
        if let cookies { parts.append(cookies) }
        if let places = network.tls?.places, let origin = try? URLRules.parse(exchange.url).hostKey {
            for place in places where place.origin == origin {
                parts += [place.key, place.certificate.map { "\($0)" }].compactMap { $0 }
            }
        }
        if let file = network.caFile, !network.caFileIsTheDaemons { parts.append(file) }
        parts += [network.username, network.password, network.bearer, network.netrcPath].compactMap { $0 }
        parts += network.answered.flatMap { [$0.origin, $0.username, $0.password] }
        if let certificate = network.clientCertificate { parts.append("\(certificate)") }
        return parts.isEmpty ? nil : parts.map { "\($0.utf8.count):\($0)" }.joined()
    }

    // MARK: Before the request

    package enum Use: Sendable, Hashable {
        /// The stored answer as it is; its age in seconds.
        case serve(StoredResponse, age: Int64)
        /// Sends the request with these fields, and uses the stored answer if the server confirms it.
        case validate(StoredResponse, [HeaderField])
        /// Sends the request with these fields. The stored answer is not used.
        case load([HeaderField])
        /// There is no stored answer, and the server must not be asked.
        case miss
    }

    /// The stored answer that may answer this request: of several the newest (section 4.1).
    package func selected(of stored: [StoredResponse]) -> StoredResponse? { selected(of: stored) { $0 } }

    /// The same for values that contain stored answers.
    func selected<Holder>(of holders: [Holder], _ response: (Holder) -> StoredResponse) -> Holder? {
        holders.filter { response($0).selection.matches(fields) }.max {
            response($0).responseTime < response($1).responseTime
        }
    }

    /// Decides what happens to a request.
    /// - Parameters:
    ///   - stored: the answer that was selected; nil if there is none.
    ///   - now: in seconds since 1970.
    package func use(of stored: StoredResponse?, at now: Int64) -> Use {
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return .load(Self.reloading)
        case .returnCacheDataDontLoad: return stored.map { .serve($0, age: $0.age(at: now)) } ?? .miss
        case .returnCacheDataElseLoad: return stored.map { .serve($0, age: $0.age(at: now)) } ?? .load([])
        case .reloadRevalidatingCacheData: return validation(of: stored, with: [Self.revalidating])
        case .useProtocolCachePolicy:
            if let stored, mayServe(stored, at: now) { return .serve(stored, age: stored.age(at: now)) }
            return directives.onlyIfCached ? .miss : validation(of: stored, with: [])
        }
    }

    private static let reloading = [HeaderField("Cache-Control", "no-cache"), HeaderField("Pragma", "no-cache")]
    private static let revalidating = HeaderField("Cache-Control", "max-age=0")

    private func validation(of stored: StoredResponse?, with fields: [HeaderField]) -> Use {
        guard let stored, !stored.validators.isEmpty else { return .load(fields) }
        return .validate(stored, fields + stored.validators)
    }

    /// Fresh enough for client and server (sections 4, 4.2.4, 5.2.1).
    private func mayServe(_ stored: StoredResponse, at now: Int64) -> Bool {
        let server = stored.directives
        guard !directives.noCache, !server.noCache, !stored.isOfTheFuture(at: now) else { return false }
        let age = stored.age(at: now)
        // Ages are in whole seconds, and 0 asks for validation.
        if let most = directives.maxAge, age > most || most == 0 { return false }
        let left = stored.lifetime - age
        if left > 0 { return left >= directives.minFresh ?? 0 }
        guard !server.mustRevalidate, directives.minFresh == nil, let staleness = directives.maxStale else {
            return false
        }
        return -left <= staleness
    }

    // MARK: After the answer

    /// Whether other requests for the URL may wait for this answer: it will be stored and be fresh for some time. This
    /// is also true of a 304 that confirms the stored answer.
    package func isShared(_ head: ResponseHead, requestTime: Int64, responseTime: Int64) -> Bool {
        if head.status == 304 { return true }
        guard let stored = stored(head, requestTime: requestTime, responseTime: responseTime) else { return false }
        return !stored.directives.noCache && stored.isFresh(at: responseTime)
    }

    /// The part of an answer that is stored; nil if it must not be stored. An answer after a redirect belongs to
    /// another request.
    package func stored(_ head: ResponseHead, requestTime: Int64, responseTime: Int64) -> StoredResponse? {
        guard let status = head.status, head.redirects == 0, CacheRequest.isStorable(head, request: directives),
            let selection = CacheSelection(head, fields)
        else { return nil }
        return StoredResponse(
            status: status, httpVersion: head.httpVersion, reason: head.reason,
            headers: CacheRequest.kept(head.headers),
            requestTime: requestTime, responseTime: responseTime, selection: selection)
    }

    /// Whether a stale answer may be used instead of a failure (section 4.2.4, RFC 5861 section 4), because the server
    /// allowed it for a time that is not over.
    package func mayServe(_ stored: StoredResponse, inPlaceOf outcome: ExchangeOutcome, at now: Int64) -> Bool {
        guard policy == .useProtocolCachePolicy, !directives.noCache else { return false }
        switch outcome.end {
        case .transport, .stalled, .overrun: break
        case .finished: guard outcome.head?.status != nil else { return false }
        case .stopped, .local, .aborted, .refusedRedirect: return false
        }
        if let status = outcome.head?.status, ![500, 502, 503, 504].contains(status) { return false }
        let server = stored.directives
        guard !server.noCache, !server.mustRevalidate, !stored.isOfTheFuture(at: now),
            let allowed = directives.staleIfError ?? server.staleIfError
        else { return false }
        return stored.age(at: now) - stored.lifetime <= allowed
    }
}

/// Which answers a private cache may keep, and which of its own it must drop (RFC 9111 sections 3 and 4.4).
extension CacheRequest {
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

    /// Whether the answer to a GET may be stored (section 3).
    /// - Parameter request: directives of the request.
    package static func isStorable(_ head: ResponseHead, request: CacheControl) -> Bool {
        guard let status = head.status, isKept(status), !request.noStore else { return false }
        let directives = CacheControl(head.values("cache-control"))
        // Statuses whose own caching rules are known here (section 5.2.2.3).
        guard directives.mustUnderstand ? isHeuristicallyCacheable(status) : !directives.noStore else { return false }
        return directives.isPublic || directives.isPrivate || directives.maxAge != nil
            || head.headers.firstIndex(named: "expires") != nil || isHeuristicallyCacheable(status)
    }

    /// The head as it is stored: without fields of the connection (section 3.1).
    package static func kept(_ headers: [HeaderField]) -> [HeaderField] {
        let dropped = connection + ResponseHead(url: "", headers: headers).list("connection")
        return headers.filter { field in !dropped.contains { field.isNamed($0) } }
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
            try? URLRules.resolve($0, against: url)
        }
        return [own.requestURL] + named.filter { $0.hostKey == own.hostKey && !$0.host.isEmpty }.map(\.requestURL)
    }

    /// RFC 9110 section 9.2.1; a method that is not known is not safe.
    package static func isSafe(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH"].contains(method.uppercased())
    }
}

/// The request's fields on which a stored answer depends, with their values (RFC 9111 section 4.1): those that its Vary
/// fields name, and Accept-Encoding, because bodies are kept decoded for tasks that leave the coding to the daemon.
package struct CacheSelection: Sendable, Hashable {
    /// A line `name: value` for each field, or `name` if the request has none, sorted.
    package let text: String

    package init(text: String) { self.text = text }

    /// The most fields on which an answer may depend.
    static let most = 64

    /// nil for `Vary: *`, which no request matches; if a name is not the name of a field; and for more than `most`
    /// fields.
    package init?(_ head: ResponseHead, _ request: [HeaderField]) {
        let names = Set(head.list("vary")).union(["accept-encoding"])
        if names.contains("*") || names.count > Self.most || names.contains(where: { $0.utf8.contains(58) }) {
            return nil
        }
        text = names.sorted().map { Self.line($0, request) }.joined(separator: "\n")
    }

    private static func line(_ name: String, _ request: [HeaderField]) -> String {
        let values = request.values(named: name)
        return values.isEmpty ? name : "\(name): \(values.map(\.trimmed).joined(separator: ", "))"
    }

    /// Names of the fields.
    private var names: [String] {
        text.utf8.split(separator: UInt8(ascii: "\n")).map(Self.name)
    }

    private static func name(_ line: Substring.UTF8View) -> String {
        String(Substring(line.prefix { $0 != UInt8(ascii: ":") }))
    }

    package func matches(_ request: [HeaderField]) -> Bool {
        text.utf8.split(separator: UInt8(ascii: "\n")).allSatisfy { line in
            Self.line(Self.name(line), request) == Substring(line)
        }
    }

    /// It depends on a secret of the request, which must not be written to disk.
    package var namesSecrets: Bool {
        names.contains { ["authorization", "proxy-authorization", "cookie"].contains($0) }
    }
}
