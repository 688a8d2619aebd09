import TransferCore
import TransferModel

/// The request after the redirects so far: pure, so that every rule can be tested without a network.
///
/// RFC 9110 section 15.4; nothing that could identify the caller goes to another origin.
struct RequestState: Sendable {
    struct Credentials: Sendable, Hashable {
        var user: String
        var password: String
        /// The method that the server asked for; nil if it has not asked.
        var method: AuthenticationMethod?
        /// The origin for which they were found or given; nil if they are the task's own.
        var answeredFor: String?

        /// The tickets of the daemon's user are used instead of user and password.
        var isTicket = false

        /// NTLM authenticates a connection and not a request, as does Negotiate at some servers. Both need HTTP/1.1.
        var isOfConnection: Bool { method == .ntlm || method == .negotiate }
    }

    private(set) var url: CurlURL
    private(set) var method: String?
    /// The caller's fields, of which few go to another origin.
    private(set) var headers: [HeaderField]
    /// The transfer protocol's fields.
    private(set) var ownHeaders: [HeaderField]
    /// Stored cookies, in the form of the Cookie field.
    var storedCookies: String?
    /// The value of the Authorization field with a Kerberos token, for this one request.
    var token: String?
    /// The request sends the exchange's payload.
    private(set) var sendsPayload: Bool
    /// User name and password for the origin.
    private(set) var credentials: Credentials?
    private(set) var netrcPath: String?
    /// A redirect led to another origin than the caller's; the caller's certificate is not shown there.
    private(set) var isForeign = false
    private(set) var redirects = 0
    /// A redirect treated the request as done, and a GET followed.
    private(set) var becameGET = false
    /// The answer to this request would not prove that the upload's body arrived; only a client may decide so.
    private(set) var losesUpload = false
    private let network: Boxed<NetworkOptions>
    private let hsts: (any HSTSKeeping)?
    private let isUpload: Bool
    private let isReplayable: Bool
    private let isAsked: Bool
    /// The host must be reached over https alone, and its certificate must be verified (RFC 6797 section 8.4).
    private(set) var isKnownHost: Bool
    /// The URL before HSTS changed it to https; nil if it was not changed.
    private(set) var insecureURL: String?

    /// - Parameter hsts: nil if no host is known.
    /// - Throws: policy.plaintext_refused.
    init(_ exchange: Exchange, url: CurlURL, _ hsts: (any HSTSKeeping)? = nil) throws(TransferError) {
        let network = exchange.$network
        self.network = network
        self.hsts = hsts
        isKnownHost = hsts.map { url.isHTTP && $0.isKnown(url.host) } ?? false
        insecureURL = isKnownHost && url.isPlaintext ? url.text : nil
        let url = isKnownHost ? url.secured : url
        try Self.checkPlaintext(url, network)
        self.url = url
        method = exchange.method
        headers = exchange.headers
        ownHeaders = exchange.ownHeaders
        sendsPayload = exchange.sentPayload != nil
        isUpload = exchange.isUpload
        isReplayable = exchange.isReplayable
        isAsked = exchange.redirects == .ask
        if takeAnswered() { return }
        let authorized = exchange.headers.contains { $0.isNamed("authorization") }
        if url.isHTTP, authorized { return }
        if url.isHTTP, let bearer = network.wrappedValue.bearer {
            headers.append(HeaderField("Authorization", "Bearer \(bearer)"))
        } else if let user = network.wrappedValue.username ?? url.user {
            let password = network.wrappedValue.username == nil ? url.password : network.wrappedValue.password
            credentials = Credentials(user: user, password: password ?? "")
        } else {
            netrcPath = network.wrappedValue.netrcPath
        }
    }

    /// Whether repeating the request has no further effect (RFC 9110 section 9.2.2).
    var isIdempotent: Bool { RepeatRules.isIdempotent(effectiveMethod) }

    /// There are credentials that libcurl could answer a 401 with.
    var hasCredentials: Bool { credentials.map { $0.method != .negotiate } ?? (netrcPath != nil) }

    /// The credentials are sent with the request, because the server has asked for Basic before. This saves a request
    /// that the server would only refuse (RFC 7617 section 2.2).
    var isProvedUnasked: Bool { credentials?.method == .httpBasic || token != nil }

    /// The method, in capitals, with its default if none is given.
    var effectiveMethod: String { (method ?? (sendsPayload ? "POST" : "GET")).uppercased() }

    /// All fields of the request's header. There is at most one Cookie field (RFC 6265bis section 5.8.1), in which the
    /// caller's cookies precede stored ones. With stored ones, it is text for octets (`CookieOctets`).
    var allHeaders: [HeaderField] {
        guard let token else { return plainHeaders }
        return plainHeaders + [HeaderField("Authorization", token)]
    }

    private var plainHeaders: [HeaderField] {
        guard let storedCookies else { return headers + ownHeaders }
        let given = headers.values(named: "cookie").filter { !$0.isEmpty }.map { CookieOctets.text(of: $0.utf8) }
        let cookies = HeaderField("Cookie", (given + [storedCookies]).joined(separator: "; "))
        return headers.filter { !$0.isNamed("cookie") } + [cookies] + ownHeaders
    }

    /// Scheme, name and port.
    var origin: String { "\(url.scheme)://\(url.host):\(url.port)" }

    /// Moves to the target of a response with `status` and `location`.
    /// - Parameter isSentWhole: the present request was sent with all of its body.
    /// - Throws: http.redirect_limit, request.bad_url (no usable target), http.protocol (the target is not http or
    ///   https, or nothing would prove that an upload arrived), policy.plaintext_refused.
    mutating func follow(status: Int, location: String, isSentWhole: Bool = true) throws(TransferError) {
        let limit = network.wrappedValue.redirectLimit
        guard network.wrappedValue.redirectsBefore + redirects < limit else {
            throw TransferError(
                .httpRedirectLimit, "The server redirected more than \(limit) times; check the URL.",
                details: ["url": .string(url.shown)])
        }
        let given = try target(of: location)
        isKnownHost = hsts?.isKnown(given.host) ?? false
        insecureURL = isKnownHost && given.isPlaintext ? given.text : nil
        let target = isKnownHost ? given.secured : given
        try Self.checkPlaintext(target, network)
        redirects += 1
        rewriteMethod(status, isSentWhole, target)
        guard isAsked || !losesUpload, isReplayable || !sendsPayload else {
            throw TransferError(
                .httpProtocol,
                "\(url.shown) redirects the upload to \(target.shown) (\(status)), which does not prove that the file "
                    + "arrived. If it belongs there, make that the task's URL (task.update), then task.retry.",
                details: [
                    "url": .string(url.shown), "location": .string(target.shown), "status": .integer(Int64(status)),
                ])
        }
        if !target.hasSameOrigin(as: url) {
            let describesBody = sendsPayload
            headers.removeAll { field in
                !RequestHeaders.crossesOrigins(field.name)
                    && !(describesBody && field.name.lowercased().hasPrefix("content-"))
            }
            credentials = nil
            netrcPath = nil
            isForeign = true
        }
        token = nil
        url = target
        url.user = nil
        url.password = nil
        _ = takeAnswered()
    }

    /// Credentials that answered a challenge of this origin take precedence over all others.
    private mutating func takeAnswered() -> Bool {
        let answered = network.wrappedValue.answered
        guard url.isHTTP, !answered.isEmpty else { return false }
        let here = answered.filter { CurlURL($0.origin)?.hasSameOrigin(as: url) == true }
        if !here.isEmpty, credentials?.answeredFor != nil { credentials = nil }
        let isRedirected = network.wrappedValue.redirectsBefore + redirects > 0
        guard
            let index = NetworkOptions.OriginCredential.index(among: here, for: url.text, isRedirected: isRedirected)
        else { return false }
        let known = here[index]
        headers.removeAll { $0.isNamed("authorization") }
        credentials = Credentials(
            user: known.username, password: known.password, method: known.method, answeredFor: known.origin,
            isTicket: known.isTicket)
        netrcPath = nil
        return true
    }

    private func target(of location: String) throws(TransferError) -> CurlURL {
        if URLRules.firstControl(location) != nil { throw unusable("with a control character") }
        let target = url.resolving(location)
        if target == nil, Self.scheme(of: location).map({ ["http", "https"].contains($0) }) ?? true {
            throw unusable("that cannot be read")
        }
        guard let target, target.isHTTP else {
            throw TransferError(
                .httpProtocol, "The server redirects to something that is neither http nor https.",
                details: ["url": .string(url.shown)])
        }
        // libcurl would treat it as a host that refuses connections.
        if target.port == "0" { throw unusable("with port 0") }
        return target
    }

    /// nil for a relative reference (RFC 3986 section 4.2).
    private static func scheme(of reference: String) -> String? {
        guard let end = reference.firstIndex(where: { ":/?#".contains($0) }), reference[end] == ":" else { return nil }
        return reference[..<end].lowercased()
    }

    private func unusable(_ what: String) -> TransferError {
        TransferError(
            .badURL, "The server redirects to a URL \(what); give another URL, or report it to the server's operator.",
            details: ["url": .string(url.shown)])
    }

    /// RFC 9110 sections 15.4.2 to 15.4.4: 301 and 302 turn POST into GET, 303 turns everything except HEAD into GET,
    /// and no body is sent. An upload is repeated where only its place moved; a GET is the receipt of a POST alone.
    private mutating func rewriteMethod(_ status: Int, _ isSentWhole: Bool, _ target: CurlURL) {
        let (current, hadUpload) = (effectiveMethod, isUpload && sendsPayload)
        let isElsewhere = [301, 302].contains(status) && !(hadUpload && target.isSamePlace(as: url))
        let becomesGet =
            status == 303
            ? current != "HEAD" && (current != "GET" || sendsPayload)
            : current == "POST" && isElsewhere
        let isReceipt = status == 303 && current == "POST" && isSentWhole
        losesUpload = hadUpload && (becomesGet || isElsewhere && !isAsked) && !isReceipt
        guard becomesGet else { return }
        becameGET = true
        method = nil
        sendsPayload = false
        headers.removeAll(where: Self.describesContent)
        ownHeaders.removeAll(where: Self.describesContent)
    }

    private static func describesContent(_ field: HeaderField) -> Bool {
        let name = field.name.lowercased()
        return name.hasPrefix("content-") || name == "repr-digest" || name == "expect"
    }

    private static func checkPlaintext(_ url: CurlURL, _ network: Boxed<NetworkOptions>) throws(TransferError) {
        guard url.isPlaintext, !network.allowsPlaintext(to: url.host) else { return }
        throw .plaintextRefused(url.scheme, to: url.host, url: url.text)
    }
}

extension Exchange {
    /// The payload that is sent. Methods that define a meaning for content send its length even if it is empty (RFC
    /// 9110 section 8.6).
    var sentPayload: Payload? {
        let sends =
            switch kind {
            case .download, .request: method?.uppercased() != "HEAD"
            case .probe: false
            }
        guard sends else { return nil }
        if payload != .none { return payload }
        let takesContent = ["POST", "PUT", "PATCH"].contains(method?.uppercased())
        return takesContent ? .bytes([]) : nil
    }
}
