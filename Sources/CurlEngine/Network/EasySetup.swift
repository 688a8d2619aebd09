import CCurl
import Glibc
import TransferCore
import TransferModel

/// Writes one request into an easy handle (curl_easy_setopt(3)); stops at the first refused option.
struct EasySetup {
    let easy: UnsafeMutableRawPointer
    let userAgent: String
    let longestIdle: Int?
    var result = CURLE_OK

    /// - Parameters:
    ///   - easy: new, or reset.
    ///   - longestIdle: in seconds: connections that were idle for longer are not used; nil for the usual time.
    ///   - isKept: it is still configured for a transfer with the same recipe.
    /// - Returns: libcurl's code for the first option that it refused, or `CURLE_OK`.
    static func configure(
        _ easy: UnsafeMutableRawPointer, for transfer: Transfer, userAgent: String, longestIdle: Int?,
        isKept: Bool = false
    ) -> CURLcode {
        var setup = EasySetup(easy: easy, userAgent: userAgent, longestIdle: longestIdle)
        setup.address(transfer)
        if isKept {
            setup.beginCallback(transfer)
            setup.headers(transfer)
            return setup.result
        }
        setup.common(transfer)
        setup.proxy(transfer)
        setup.tls(transfer)
        switch transfer.request.url.scheme {
        case "http", "https": setup.http(transfer)
        case "sftp": setup.sftp(transfer)
        default: setup.files(transfer)
        }
        return setup.result
    }

    /// The options that no two transfers share: the URL, and the target of callbacks.
    private mutating func address(_ transfer: Transfer) {
        set(CURLOPT_URL, transfer.request.url.text)
        if result == CURLE_OK { result = dld_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, transfer.errorText) }
        if result == CURLE_OK {
            result = dld_easy_set_response_callbacks(easy, receiveBody, receiveHeader, pointer(to: transfer))
        }
    }

    private mutating func beginCallback(_ transfer: Transfer) {
        if result == CURLE_OK { result = dld_easy_set_begin_callback(easy, beginRequest, pointer(to: transfer)) }
    }

    private mutating func set(_ option: CURLoption, _ value: Int) {
        if result == CURLE_OK { result = dld_easy_set_long(easy, option, value) }
    }

    private mutating func set(_ option: CURLoption, offset: Int64) {
        if result == CURLE_OK { result = dld_easy_set_offset(easy, option, curl_off_t(offset)) }
    }

    private mutating func set(_ option: CURLoption, _ bytes: [UInt8]) {
        if result == CURLE_OK { result = dld_easy_set_blob(easy, option, bytes, bytes.count) }
    }

    /// Removes libcurl's default.
    private mutating func clear(_ option: CURLoption) {
        if result == CURLE_OK { result = dld_easy_set_string(easy, option, nil) }
    }

    private mutating func set(_ option: CURLoption, _ value: String?) {
        if result == CURLE_OK, let value { result = dld_easy_set_string(easy, option, value) }
    }

    /// Bytes to read at a time if they may come fast. A little less than what malloc maps by itself
    /// (`Footprint.prepare`): libcurl takes and frees one buffer for each transfer, and mapping, touching and unmapping
    /// it costs more than a small file's recv(2).
    private static let fastBuffer = 248 << 10
    /// Answers to requests are short.
    private static let slowBuffer = 16 << 10

    /// Each transfer of a crowd keeps as much of its buffer in memory as ever came at once.
    private static let crowdBuffer = 8 << 10

    /// A limited transfer reads at most what passes in a quarter of a second; libcurl's minimum is 1 KiB.
    static func bufferSize(of transfer: Transfer) -> Int {
        guard let rate = transfer.limits.map(\.bucket.rate).min() else {
            guard transfer.exchange.kind == .download || transfer.context.receiver != nil else { return slowBuffer }
            return transfer.reactor?.transfers.count ?? 0 > Crowd.begins ? crowdBuffer : fastBuffer
        }
        return min(slowBuffer, max(1 << 10, Int(clamping: rate.rawValue / 4)))
    }

    private mutating func common(_ transfer: Transfer) {
        let network = transfer.exchange.network
        set(CURLOPT_NOSIGNAL, 1)
        // Without it, removing a handle waits for a name server that does not answer.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_BUFFERSIZE, Self.bufferSize(of: transfer))
        set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(network.connectTimeout.milliseconds)))
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_PROTOCOLS_STR, "http,https,ftp,ftps,sftp")
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, transfer.tunnel == nil ? 1 : 0)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // For libcurl, an age of 0 means any age.
        if transfer.isAfresh || longestIdle == 0 { set(CURLOPT_FRESH_CONNECT, 1) }
        if let longestIdle, longestIdle > 0 { set(CURLOPT_MAXAGE_CONN, longestIdle) }
        if result == CURLE_OK { result = dld_easy_set_private_sockets(easy, transfer.interface?.index ?? 0) }
        if result == CURLE_OK, transfer.interface != nil, let reactor = transfer.reactor {
            let closes = Unmanaged.passUnretained(reactor.lateCloses).toOpaque()
            result = dld_easy_set_close_callback(easy, closeLate, closes)
        }
        set(CURLOPT_INTERFACE, transfer.interface?.address.map { "host!\($0)" })
        if result == CURLE_OK, let trace = transfer.reactor?.trace, trace.isWanted() {
            result = trace.follow(transfer, on: easy)
        }
        if let credentials = transfer.request.credentials {
            // For Negotiate, a header line is sent instead.
            guard credentials.method != .negotiate else { return }
            set(CURLOPT_USERNAME, credentials.user)
            set(CURLOPT_PASSWORD, credentials.password)
        } else if let netrc = transfer.request.netrcPath {
            set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
            set(CURLOPT_NETRC_FILE, netrc)
        }
    }

    /// Nothing here changes the environment.
    private static let environmentProxies = ["http", "https", "ftp", "all"].flatMap { scheme in
        let names: [String] = ["\(scheme)_proxy", "\(scheme.uppercased())_PROXY"]
        return names.compactMap { name in getenv(name).map { String(cString: $0) } }
    }
    private static var environmentHasProxies: Bool { !environmentProxies.isEmpty }

    static func mayUseProxy(_ network: Boxed<NetworkOptions>) -> Bool {
        network.wrappedValue.proxy.map { !$0.isEmpty } ?? environmentHasProxies
    }

    /// Whether the route may lead through a proxy that is itself reached over TLS.
    static func mayUseSecureProxy(_ network: NetworkOptions) -> Bool {
        let named = network.proxy.map { [$0] } ?? environmentProxies
        return named.contains { $0.lowercased().hasPrefix("https:") }
    }

    private mutating func proxy(_ transfer: Transfer) {
        let network = transfer.exchange.network
        // Saves libcurl six pointless lookups of variables.
        if let proxy = network.proxy ?? (Self.environmentHasProxies ? nil : "") {
            set(CURLOPT_PROXY, ProxyRules.ascii(proxy))
        }
        set(CURLOPT_PROXYAUTH, Self.ways(network.proxyCredential?.method))
        if let token = transfer.tokens?.proxyField {
            curl_slist_free_all(transfer.proxyLines)
            transfer.proxyLines = curl_slist_append(nil, "Proxy-Authorization: \(token)")
            if result == CURLE_OK { result = dld_easy_set_list(easy, CURLOPT_PROXYHEADER, transfer.proxyLines) }
        }
        // A connection or tunnel that Kerberos has authenticated serves no other request, which may be another user's.
        if transfer.tokens != nil { set(CURLOPT_FORBID_REUSE, 1) }
        if let credential = network.proxyCredential, credential.method != .negotiate {
            set(CURLOPT_PROXYUSERNAME, credential.username)
            set(CURLOPT_PROXYPASSWORD, credential.password)
        }
    }

    /// If only one method is set, libcurl sends the credentials at once. With two, it first sends a request without
    /// them.
    private static func ways(_ method: AuthenticationMethod?) -> Int {
        switch method {
        case .httpBasic: DLD_AUTH_BASIC
        case .ntlm: DLD_AUTH_NTLM
        case .httpDigest, .negotiate, .serverTrust, .clientCertificate, nil: DLD_AUTH_BASIC_DIGEST
        }
    }

    private mutating func tls(_ transfer: Transfer) {
        let network = transfer.exchange.network
        let texts = network.certificates
        if let authorities = texts.authorities {
            // libcurl would also search the system's folder (CURLOPT_CAPATH(3)).
            clear(CURLOPT_CAPATH)
            set(CURLOPT_CAINFO_BLOB, authorities)
            if network.proxy?.lowercased().hasPrefix("https://") == true {
                clear(CURLOPT_PROXY_CAPATH)
                set(CURLOPT_PROXY_CAINFO_BLOB, authorities)
            }
        }
        let place = network.tls?.place(of: transfer.request.url)
        if let place, place.certificate != nil {
            show(place.texts, password: place.certificate?.password)
        } else if !transfer.request.isForeign {
            show(texts, password: network.clientCertificate?.password)
        }
        transfer.watch = TLSWatch(transfer)
        if let watch = transfer.watch, result == CURLE_OK { result = dld_easy_set_tls_watch(easy, watch.watch) }
        if let key = transfer.trustedKey { trust(key) }
        guard let minimum = network.minimumTLSVersion(of: transfer.request.url.host) else { return }
        let version =
            switch minimum {
            case .v10: CURL_SSLVERSION_TLSv1_0
            case .v11: CURL_SSLVERSION_TLSv1_1
            case .v12: CURL_SSLVERSION_TLSv1_2
            case .v13: CURL_SSLVERSION_TLSv1_3
            }
        set(CURLOPT_SSLVERSION, Int(version))
    }

    private mutating func show(_ texts: CertificateTexts, password: String?) {
        guard let certificate = texts.certificate else { return }
        set(CURLOPT_SSLCERT_BLOB, certificate)
        set(CURLOPT_SSLKEY_BLOB, texts.key ?? certificate)
        set(CURLOPT_KEYPASSWD, password)
    }

    /// A trusted key replaces verification, at that server only. libcurl compares it before it sends anything, and does
    /// not reuse a connection that was made under other conditions.
    private mutating func trust(_ key: String) {
        set(CURLOPT_PINNEDPUBLICKEY, key)
        set(CURLOPT_SSL_VERIFYPEER, 0)
        set(CURLOPT_SSL_VERIFYHOST, 0)
    }

    private mutating func http(_ transfer: Transfer) {
        let request = transfer.request
        set(CURLOPT_HTTPAUTH, Self.ways(request.credentials?.method))
        let version = httpVersion(transfer)
        set(CURLOPT_HTTP_VERSION, version)
        // A request that may share a connection waits to learn whether the one being made can be shared.
        if request.url.scheme == "https", version != Int(CURL_HTTP_VERSION_1_1) { set(CURLOPT_PIPEWAIT, 1) }
        var usual = "GET"
        if transfer.isSending {
            upload(transfer)
            usual = "PUT"
        }
        let method = request.effectiveMethod
        if method == "HEAD" {
            set(CURLOPT_NOBODY, 1)
        } else if method != usual {
            set(CURLOPT_CUSTOMREQUEST, request.method ?? method)
        }
        set(CURLOPT_EXPECT_100_TIMEOUT_MS, Self.expectationPatience)
        // A server may close an idle connection just when it is reused; a request that cannot be repeated should avoid
        // that.
        if !request.isIdempotent {
            set(CURLOPT_MAXAGE_CONN, min(Self.freshSeconds, max(1, longestIdle ?? .max)))
        }
        beginCallback(transfer)
        headers(transfer)
    }

    /// Needs fewer rounds than 64 KiB; a larger buffer would leave the caches between the copy in and the copy out.
    private static let largestUploadBuffer = 256 << 10
    private static let freshSeconds = 5
    /// Milliseconds to wait for a 100.
    private static let expectationPatience = 1000

    private func pointer(to transfer: Transfer) -> UnsafeMutableRawPointer {
        Unmanaged.passUnretained(transfer).toOpaque()
    }

    /// Sets up a body that the transfer's feed provides.
    private mutating func upload(_ transfer: Transfer) {
        guard let feed = transfer.feed, result == CURLE_OK else { return }
        result = dld_easy_set_upload_callbacks(easy, sendBody, seekBody, pointer(to: transfer))
        feed.allowDirect(
            transfer.request.url.scheme == "http" && transfer.sendLimits.isEmpty
                && transfer.request.credentials?.isOfConnection != true
                && !Self.mayUseProxy(transfer.exchange.$network))
        // libcurl subtracts the length of the remote file.
        let skipped = transfer.request.url.isHTTP ? 0 : transfer.exchange.startOffset.rawValue
        set(CURLOPT_INFILESIZE_LARGE, offset: feed.length - Int64(feed.direct.count) + skipped)
        // libcurl's default is 64 KiB, and its minimum 16.
        let buffer =
            transfer.sendLimits.isEmpty
            ? min(transfer.reactor?.files.uploadPiece ?? 0, Self.largestUploadBuffer) : Transfer.limitedPiece
        if buffer != 64 << 10 { set(CURLOPT_UPLOAD_BUFFERSIZE, buffer) }
    }

    private func httpVersion(_ transfer: Transfer) -> Int {
        // A paused stream blocks its neighbours, and a rate limit overshoots; uploads spin on old versions.
        let mustBe11 =
            transfer.request.credentials?.isOfConnection == true || !transfer.limits.isEmpty
            || transfer.exchange.network.httpVersion == .v11
            || !transfer.sendLimits.isEmpty && transfer.isSending
            || transfer.request.sendsPayload && !CurlVersion.current.uploadsSafelyOverHTTP2
        return Int(mustBe11 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS)
    }

    private mutating func headers(_ transfer: Transfer) {
        var ofPayload: [String] = []
        if transfer.isSending, let feed = transfer.feed {
            ofPayload.append(transfer.expectsContinue ? "Expect: 100-continue" : "Expect:")
            // libcurl would state the length of its own share.
            if !feed.direct.isEmpty { ofPayload.append("Content-Length: \(feed.length)") }
        }
        var lines = transfer.reactor?.headerLines
        if lines?.serve(transfer.request, ofPayload: ofPayload) != true {
            lines = HeaderLines(transfer.request, ofPayload: ofPayload, userAgent: userAgent)
        }
        guard let lines else {
            result = CURLE_BAD_FUNCTION_ARGUMENT
            return
        }
        transfer.reactor?.headerLines = lines
        transfer.headerLines = lines
        if result == CURLE_OK { result = dld_easy_set_list(easy, CURLOPT_HTTPHEADER, lines.list) }
    }

    private mutating func files(_ transfer: Transfer) {
        bePatientOnlySoLong(transfer)
        if transfer.isSending { return store(transfer) }
        set(CURLOPT_FILETIME, 1)
        if transfer.exchange.kind == .probe, transfer.request.url.scheme != "sftp" { set(CURLOPT_NOBODY, 1) }
        guard transfer.exchange.kind == .download else { return }
        if transfer.request.url.scheme != "sftp" { return retrieve(transfer) }
        let offset = transfer.exchange.startOffset.rawValue
        if offset > 0 { set(CURLOPT_RESUME_FROM_LARGE, offset: offset) }
    }

    /// FTP: the body ends where the server ends it. By default, libcurl asks for SIZE and stops after as many bytes.
    /// Then nobody would notice a server that ignores REST and sends the file from its beginning, or a file that was
    /// replaced by a longer one since the probe. So REST is sent right before RETR, and SIZE is not asked. An HTTP
    /// proxy that speaks FTP on our behalf gets an HTTP request with a range.
    private mutating func retrieve(_ transfer: Transfer) {
        let offset = transfer.exchange.startOffset.rawValue
        guard !transfer.exchange.network.mayMeetGateway else {
            if offset > 0 { set(CURLOPT_RESUME_FROM_LARGE, offset: offset) }
            return
        }
        set(CURLOPT_IGNORE_CONTENT_LENGTH, 1)
        guard offset > 0, result == CURLE_OK else { return }
        curl_slist_free_all(transfer.commandList)
        transfer.commandList = curl_slist_append(nil, "REST \(offset)")
        result = dld_easy_set_list(easy, CURLOPT_PREQUOTE, transfer.commandList)
    }

    /// To resume, libcurl itself asks on the same connection, right before it sends, how long the remote file is. It
    /// then appends (FTP) or writes on from there (SFTP). `Transfer.seek` checks that this is where we mean to resume.
    private mutating func store(_ transfer: Transfer) {
        upload(transfer)
        if transfer.exchange.startOffset > 0 { set(CURLOPT_RESUME_FROM_LARGE, offset: -1) }
    }

    private mutating func sftp(_ transfer: Transfer) {
        files(transfer)
        // libcurl would hand a connection that one task's known hosts vouched for to another task.
        set(CURLOPT_FORBID_REUSE, 1)
        set(CURLOPT_SSH_AUTH_TYPES, DLD_SSH_AUTH_ALL)
        if result == CURLE_OK { result = dld_easy_set_known_hosts(easy, transfer.keys?.knownHosts ?? "/dev/null") }
        set(CURLOPT_SSH_PRIVATE_KEYFILE, transfer.keys?.privateKey)
        set(CURLOPT_SSH_PUBLIC_KEYFILE, transfer.keys?.publicKey)
    }
}

extension NetworkOptions {
    /// Whether libcurl might send requests for FTP to an HTTP proxy: the given one, or that of the environment
    /// (curl(1), ENVIRONMENT).
    fileprivate var mayMeetGateway: Bool {
        let variables = ["ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY"]
        let proxy = proxy ?? variables.lazy.compactMap { getenv($0).map { String(cString: $0) } }.first ?? ""
        return !proxy.isEmpty && !proxy.lowercased().hasPrefix("socks")
    }
}

/// CURLOPT_WRITEFUNCTION(3).
private let receiveBody: dld_body_callback = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    guard let reactor = transfer.reactor else { return 0 }
    return transfer.body(UnsafeRawPointer(bytes), size * count, reactor: reactor)
}

/// CURLOPT_HEADERFUNCTION(3).
private let receiveHeader: dld_body_callback = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    guard let reactor = transfer.reactor else { return 0 }
    return transfer.headerLine(UnsafeRawPointer(bytes), size * count, reactor: reactor)
}
