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
        switch staleness {
        case .any: return true
        case .upTo(let most): return -left <= most
        }
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
        guard let status = head.status, head.redirects == 0, CacheRules.isStorable(head, request: directives),
            let selection = CacheSelection(head, fields)
        else { return nil }
        return StoredResponse(
            status: status, httpVersion: head.httpVersion, reason: head.reason, headers: CacheRules.kept(head.headers),
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
