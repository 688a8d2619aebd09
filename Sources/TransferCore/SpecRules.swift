import FoundationEssentials
import TransferModel

/// Checks a client's request before anything is stored: types are already right, but values may not be.
///
/// Every refusal names the field by its path (`tasks[3].checksum.value`) and says what would be accepted.
package struct SpecRules: Sendable {
    /// Prefix of field names: `tasks[3]`.
    package var path: String

    package init(path: String) { self.path = path }

    /// - Returns: the parsed URL; nil if resume data must name it.
    /// - Throws: `request.bad_url`, `request.bad_field`.
    @discardableResult
    package func check(_ spec: TaskSpec) throws(TransferError) -> ParsedURL? {
        let url = spec.resumeData == nil ? try parsed(spec.url) : nil
        try checkUpload(spec, url)
        try checkRequest(spec)
        try checkCredentials(spec, url)
        try checkCookies(spec, url)
        try checkMirrors(spec)
        try checkPieces(spec)
        try checkDestination(spec)
        if let checksum = spec.checksum { try checkDigest(checksum.value, checksum.algorithm, "checksum.value") }
        try checkTexts(spec)
        try checkNumbers(spec)
        try checkProxy(spec.proxy)
        try checkInterface(spec.interface)
        try checkFile(spec.netrc, "netrc")
        try checkCertificates(spec.caFile, spec.clientCertificate)
        try checkRetry(spec.retry)
        if let begin = spec.earliestBeginAt, let deadline = spec.deadlineAt, begin > deadline {
            throw bad("earliestBeginAt", "is after deadlineAt: the task would fail before it may begin.")
        }
        return url
    }

    func parsed(_ url: String?, _ field: String = "url") throws(TransferError) -> ParsedURL {
        guard let url else { throw bad(field, "missing; it is required.") }
        do {
            return try URLRules.parse(url)
        } catch {
            throw bad(field, error.message, error.code)
        }
    }

    /// - Throws: `request.bad_field`.
    package func check(_ configuration: SessionConfiguration) throws(TransferError) {
        try checkHeaders(configuration.httpAdditionalHeaders, "httpAdditionalHeaders", owned: RequestHeaders.owned)
        try checkProxy(configuration.proxy)
        try checkInterface(configuration.interface)
        try checkCertificates(configuration.caFile, configuration.clientCertificate)
        try checkRetry(configuration.retry)
        try checkFile(configuration.directory, "directory")
        try checkDirectories(configuration.directories ?? [])
        try checkDomains(configuration.exceptionDomains)
        try atLeast(configuration.httpMaximumConnectionsPerHost.map(Double.init), 1, "httpMaximumConnectionsPerHost")
        try atLeast(configuration.maximumConcurrentTasks.map(Double.init), 1, "maximumConcurrentTasks")
        try checkConnections(configuration.connectionsPerDownload, "connectionsPerDownload")
        try atLeast(configuration.downloadRateLimit.map { Double($0.rawValue) }, 0, "downloadRateLimit")
        try atLeast(configuration.uploadRateLimit.map { Double($0.rawValue) }, 0, "uploadRateLimit")
        if let interval = configuration.launchInterval, !Bounds.launchInterval.contains(interval.rawValue) {
            throw bad("launchInterval", "\(Bounds.words(Bounds.launchInterval)) seconds.")
        }
        try checkCapacity(configuration.urlCache?.memoryCapacity, "memoryCapacity", Bounds.cacheMemoryOfOwner)
        try checkCapacity(configuration.urlCache?.diskCapacity, "diskCapacity", Bounds.cacheDiskOfOwner)
        try checkTimeouts(configuration.timeoutIntervalForRequest, configuration.timeoutIntervalForResource)
        if let asks = configuration.asks, Set(asks).count != asks.count {
            throw bad("asks", "name each kind once.")
        }
        if let launch = configuration.launch {
            guard (launch.unit == nil) != (launch.argv == nil) else {
                throw bad("launch", "say either unit or argv.")
            }
            if let unit = launch.unit, !UnitName.hasSuffix(unit) {
                throw bad("launch.unit", "write the whole name with its suffix, as in \(unit.prefix(40)).service.")
            }
            if let argv = launch.argv, argv.first?.hasPrefix("/") != true {
                throw bad("launch.argv", "begin with the program's absolute path.")
            }
            if let argv = launch.argv, argv.count > Bounds.arguments || Self.bytes(argv) > Bounds.argumentBytes {
                throw bad(
                    "launch.argv", "at most \(Bounds.arguments) arguments of \(Bounds.argumentBytes) bytes in total.")
            }
            if let unit = launch.unit, unit.utf8.count > Bounds.name {
                throw bad("launch.unit", "at most \(Bounds.name) bytes.")
            }
        }
        guard configuration.schedule?.count ?? 0 <= Bounds.scheduleWindows else {
            throw bad("schedule", "at most \(Bounds.scheduleWindows) windows; one may name several days.")
        }
        for (index, window) in (configuration.schedule ?? []).enumerated() {
            for (field, text) in [("begin", window.begin), ("end", window.end)] where Self.minutes(text) == nil {
                throw bad("schedule[\(index)].\(field)", "\"\(text)\" is not HH:MM between 00:00 and 23:59.")
            }
            if let days = window.days, days.isEmpty || !days.allSatisfy((0...6).contains) {
                throw bad("schedule[\(index)].days", "use numbers from 0 (Sunday) to 6.")
            }
            for (field, rate) in [("download", window.downloadRateLimit), ("upload", window.uploadRateLimit)] {
                try atLeast(rate.map { Double($0.rawValue) }, 0, "schedule[\(index)].\(field)RateLimit")
            }
        }
    }

    /// Minutes after midnight of `HH:MM`, or nil.
    package static func minutes(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ $0.utf8.count == 2 && $0.isDigits }),
            let hours = Int(parts[0]), let minutes = Int(parts[1]), hours < 24, minutes < 60
        else { return nil }
        return hours * 60 + minutes
    }
}

extension SpecRules {
    func name(_ field: String) -> String { path.isEmpty ? field : "\(path).\(field)" }

    func bad(_ field: String, _ message: String, _ code: ErrorCode = .badField) -> TransferError {
        TransferError.bad(name(field), message, code)
    }

    private static func bytes(_ texts: [String]) -> Int { texts.reduce(0) { $0 + $1.utf8.count } }

    private func checkRequest(_ spec: TaskSpec) throws(TransferError) {
        if let method = spec.method, !HeaderField.isToken(method) || method.utf8.count > Bounds.method {
            throw bad("method", "\"\(method.prefix(40))\" is not an HTTP method.")
        }
        try checkHeaders(spec.headers, "headers", owned: Self.ownedHeaders(of: spec.kind))
        if let body = spec.body {
            if let method = spec.method?.uppercased(), method == "HEAD" || method == "TRACE" {
                throw bad("body", "a \(method) request has none (RFC 9110 section 9.3).")
            }
            if body.size != nil { throw bad("body.size", "only answers have it; leave it out.") }
            let given = [body.text, body.base64, body.file].compactMap { $0 }.count
            guard given == 1 else { throw bad("body", "say exactly one of text, base64 and file.") }
            if let text = body.base64, Data(base64Encoded: text) == nil {
                throw bad("body.base64", "not base64 (RFC 4648 section 4).")
            }
            try checkFile(body.file, "body.file")
        }
    }

    /// - Parameter owned: names that dld sets itself.
    private func checkHeaders(
        _ headers: [HeaderField]?, _ field: String, owned: Set<String>
    ) throws(TransferError) {
        let length = (headers ?? []).reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard headers?.count ?? 0 <= Bounds.headers, length <= Bounds.headerBytes else {
            throw bad(
                field,
                "at most \(Bounds.headers) headers, with \(Bounds.headerBytes) bytes of names and values in total.")
        }
        for (index, header) in (headers ?? []).enumerated() {
            guard HeaderField.isToken(header.name) else {
                throw bad("\(field)[\(index)]", "\"\(header.name.prefix(40))\" is not a header name.")
            }
            guard !header.value.utf8.contains(where: { $0 < 32 && $0 != 9 || $0 == 127 }) else {
                throw bad("\(field)[\(index)]", "the value must not contain control characters (RFC 9110 section 5.5).")
            }
            guard !owned.contains(header.name.lowercased()) else {
                throw bad("\(field)[\(index)]", "dld sets \(header.name) itself; leave it out.")
            }
        }
    }

    private func checkDestination(_ spec: TaskSpec) throws(TransferError) {
        guard let destination = spec.destination else { return }
        let isDefault = destination.isDefault == true
        if destination.path != nil, destination.directory != nil || destination.filename != nil || isDefault {
            throw bad("destination", "say either path, or directory and filename.")
        }
        if destination.path == nil, destination.directory == nil, destination.filename == nil {
            throw bad("destination", "say path, or directory.")
        }
        if destination.path?.hasSuffix("/") == true {
            throw bad(
                "destination.path", "ends in \"/\"; name the file, or say directory instead.", .destinationBadPath)
        }
        try checkFile(destination.path, "destination.path", code: .destinationBadPath)
        try checkFile(destination.directory, "destination.directory", code: .destinationBadPath)
        if let filename = destination.filename {
            guard !filename.isEmpty, filename != ".", filename != "..", filename.utf8.count <= Bounds.fileName,
                !filename.utf8.contains(where: { $0 == 47 || $0 == 0 })
            else {
                throw bad("destination.filename", "a file name of 1 to 255 bytes without \"/\".", .destinationBadPath)
            }
        }
    }

    private func checkDirectories(_ rules: [DirectoryRule]) throws(TransferError) {
        guard rules.count <= Bounds.directories else { throw bad("directories", "at most \(Bounds.directories).") }
        for (index, rule) in rules.enumerated() {
            let field = "directories[\(index)]"
            try checkFile(rule.directory, "\(field).directory")
            for (member, patterns, slashes, example) in [
                ("types", rule.types, 1, "video/*"), ("names", rule.names, 0, "*.iso"),
            ] {
                guard let patterns else { continue }
                let areGood = patterns.allSatisfy { pattern in
                    (1...Bounds.name).contains(pattern.utf8.count)
                        && pattern.utf8.count { $0 == UInt8(ascii: "/") } == slashes && !pattern.holds(0)
                }
                guard areGood, (1...Bounds.directories).contains(patterns.count) else {
                    throw bad("\(field).\(member)", "give 1 to \(Bounds.directories) patterns such as \(example).")
                }
            }
        }
    }

    private func checkCertificates(
        _ authorities: String?, _ client: ClientCertificate?
    ) throws(TransferError) {
        try checkFile(authorities, "caFile")
        try checkFile(client?.certificate, "clientCertificate.certificate")
        try checkFile(client?.key, "clientCertificate.key")
    }

    func checkFile(
        _ path: String?, _ field: String, code: ErrorCode = .badField
    ) throws(TransferError) {
        guard let path else { return }
        guard path.utf8.first == UInt8(ascii: "/"), !path.holds(0), path.utf8.count <= Bounds.path else {
            throw bad(field, "give an absolute path below 4096 bytes without NUL.", code)
        }
    }

    func checkDigest(
        _ value: String, _ algorithm: DigestAlgorithm, _ field: @autoclosure () -> String
    ) throws(TransferError) {
        guard value.utf8.allSatisfy({ Hex.digit($0) != nil }), value.utf8.count == algorithm.hexLength else {
            throw bad(field(), "\(algorithm.rawValue) has \(algorithm.hexLength) hexadecimal digits.")
        }
    }

    private func checkTexts(_ spec: TaskSpec) throws(TransferError) {
        if let token = spec.clientToken, !(1...Bounds.name).contains(token.utf8.count) {
            throw bad("clientToken", "use 1 to 255 bytes.")
        }
        if let text = spec.description, text.utf8.count > Bounds.description {
            throw bad("description", "at most \(Bounds.description) bytes.")
        }
        if let tags = spec.tags,
            tags.count > Bounds.tags || tags.contains(where: { $0.isEmpty || $0.utf8.count > Bounds.name })
        {
            throw bad("tags", "at most \(Bounds.tags) tags of 1 to \(Bounds.name) bytes.")
        }
        if let attributes = spec.attributes,
            attributes.keys.contains("")
                || attributes.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) > Bounds.attributeBytes
        {
            throw bad(
                "attributes",
                "no name may be empty, and all names and values have \(Bounds.attributeBytes) bytes at most."
            )
        }
        try checkSecret(spec.username, "username")
        try checkSecret(spec.password, "password")
        try checkSecret(spec.bearer, "bearer")
    }

    /// - Throws: `request.bad_field`.
    package func check(_ credential: DecisionCredential) throws(TransferError) {
        try checkSecret(credential.username, "username")
        try checkSecret(credential.password, "password")
        try checkFile(credential.certificate, "certificate")
        try checkFile(credential.key, "key")
    }

    /// - Throws: `request.bad_field`, `destination.bad_path`.
    package func check(_ destination: Destination) throws(TransferError) {
        var spec = TaskSpec()
        spec.destination = destination
        try checkDestination(spec)
    }

    /// - Throws: `request.bad_url`, `request.bad_field`, `request.unsupported`.
    package func check(_ request: TaskRequest) throws(TransferError) {
        if let text = request.url {
            let url = try parsed(text)
            guard url.scheme == .http || url.scheme == .https else { throw bad("url", "use http or https.") }
        }
        var spec = TaskSpec()
        spec.kind = .data
        spec.method = request.method
        spec.headers = request.headers
        spec.body = request.body
        try checkRequest(spec)
        if request.body?.file != nil {
            throw bad("body.file", "give text or base64.", .unsupported)
        }
    }

    private func checkSecret(_ value: String?, _ field: String) throws(TransferError) {
        guard let value else { return }
        if value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) {
            throw bad(field, "must not contain CR, LF or NUL.")
        }
        if value.utf8.count > Bounds.secret { throw bad(field, "at most \(Bounds.secret) bytes.") }
        if field == "username", value.utf8.contains(58) {
            throw bad("username", "must not contain \":\" (RFC 7617 section 2).")
        }
    }

    private func checkNumbers(_ spec: TaskSpec) throws(TransferError) {
        try atLeast(spec.rateLimit.map { Double($0.rawValue) }, 0, "rateLimit")
        try checkConnections(spec.connections, "connections")
        try checkTimeouts(spec.timeoutIntervalForRequest, spec.timeoutIntervalForResource)
    }

    private func checkConnections(_ count: Int?, _ field: String) throws(TransferError) {
        guard let count, !(1...ConnectionPolicy.limit).contains(count) else { return }
        throw bad(field, "from 1 to \(ConnectionPolicy.limit) connections.")
    }

    private func checkTimeouts(_ request: Seconds?, _ resource: Seconds?) throws(TransferError) {
        for (field, value) in [("timeoutIntervalForRequest", request), ("timeoutIntervalForResource", resource)] {
            guard let value, !(value.rawValue > 0 && value.rawValue <= Bounds.longestTimeout) else { continue }
            throw bad(field, "a number of seconds above 0, at most ten years.")
        }
    }

    private func checkRetry(_ retry: RetryPolicySpec?) throws(TransferError) {
        guard let retry else { return }
        try atLeast(retry.attempts.map(Double.init), 0, "retry.attempts")
        for (field, value) in [("retry.firstDelay", retry.firstDelay), ("retry.longestDelay", retry.longestDelay)] {
            if let value, !(value.rawValue > 0 && value.rawValue <= Bounds.longestDelay) {
                throw bad(field, "a number of seconds above 0, at most \(Int(Bounds.longestDelay)).")
            }
        }
        if let first = retry.firstDelay, let longest = retry.longestDelay, first > longest {
            throw bad("retry.firstDelay", "at most longestDelay, which is \(longest) s.")
        }
    }

    private func atLeast(_ value: Double?, _ minimum: Double, _ field: String) throws(TransferError) {
        if let value, !(value >= minimum) { throw bad(field, "at least \(Int(minimum)).") }
    }

    private func checkProxy(_ proxy: String?) throws(TransferError) {
        guard let proxy, !proxy.isEmpty else { return }
        guard proxy.utf8.count <= Bounds.url else { throw bad("proxy", "at most \(Bounds.url) bytes.") }
        guard !ProxyRules.accepts(proxy) else { return }
        throw bad("proxy", "\(ProxyRules.accepted); user:password@ before the host is percent-encoded.")
    }

    private func checkInterface(_ name: String?) throws(TransferError) {
        if let name, InterfaceChoice(name) == nil { throw bad("interface", "\(InterfaceChoice.accepted).") }
    }
}

// MARK: - Kinds

extension SpecRules {
    /// - Throws: `request.bad_field` for a field without effect on such a task. Settings of sessions are not checked,
    ///   because they apply to whichever of their tasks they concern.
    func checkUses(_ spec: TaskSpec, _ upload: UploadProtocol?) throws(TransferError) {
        for row in Self.ofSomeTasks where row.isSet(spec) {
            if let mismatch = row.tasks?.mismatch(spec.kind, upload) { throw bad(row.name, "goes with \(mismatch).") }
        }
    }

    /// Members that are not in this list apply to every task, or have a check of their own.
    private static let ofSomeTasks = TaskSpec.shape.rows.filter { $0.tasks != nil }

    /// A task may give credentials in one form only.
    func checkCredentials(_ spec: TaskSpec, _ url: ParsedURL?) throws(TransferError) {
        if spec.password != nil, spec.username == nil, spec.resumeData == nil, url?.username == nil {
            throw bad("password", "needs username, which is missing.")
        }
        guard spec.bearer != nil else { return }
        if spec.username != nil { throw bad("username", "say either username or bearer.") }
        if spec.headers?.contains(where: { $0.isNamed("authorization") }) ?? false {
            throw bad("bearer", "say either bearer or the header Authorization.")
        }
    }

    func checkCapacity(_ capacity: ByteCount?, _ name: String, _ most: Int) throws(TransferError) {
        guard let capacity, !(0...Int64(most)).contains(capacity.rawValue) else { return }
        throw bad("urlCache.\(name)", "0 to \(most) bytes.")
    }

    /// Headers that dld sets itself, and would drop.
    static func ownedHeaders(of kind: TaskKind) -> Set<String> {
        switch kind {
        case .download: RequestHeaders.owned
        case .data: RequestHeaders.framing
        case .upload: RequestHeaders.owned.union(UploadRequest.owned)
        }
    }
}

// MARK: - Mirrors

/// Checks of a task's mirrors and pieces.
extension SpecRules {
    func checkMirrors(_ spec: TaskSpec) throws(TransferError) {
        guard let mirrors = spec.mirrors, !mirrors.isEmpty else { return }
        guard spec.kind == .download, (spec.method ?? "GET").uppercased() == "GET", spec.body == nil else {
            throw bad("mirrors", "only downloads have them, by GET and without a body.")
        }
        guard mirrors.count <= Mirrors.limit else { throw bad("mirrors", "at most \(Mirrors.limit) of them.") }
        if let url = spec.url, let scheme = try? URLRules.parse(url).scheme, !Mirrors.schemes.contains(scheme) {
            throw bad("mirrors", "a \(scheme.rawValue) URL has none.")
        }
        for (index, mirror) in mirrors.enumerated() { try checkMirror(mirror, "mirrors[\(index)]") }
    }

    func checkPieces(_ spec: TaskSpec) throws(TransferError) {
        if let size = spec.size, size < .zero { throw bad("size", "a number of bytes.") }
        guard let pieces = spec.pieces else { return }
        guard pieces.length > .zero else { throw bad("pieces.length", "at least one byte.") }
        let most = min(Bounds.pieces, Bounds.pieceDigits / pieces.algorithm.hexLength)
        guard (1...most).contains(pieces.values.count) else {
            throw bad("pieces.values", "from 1 to \(most) digests of \(pieces.algorithm.rawValue).")
        }
        guard Bounds.allows(pieces) else {
            throw bad("pieces.length", "several pieces have at least \(Bounds.leastPiece) bytes each.")
        }
        if let size = spec.size, (try? PieceMap(pieces, of: size)) == nil {
            throw bad(
                "pieces.values",
                "\(pieces.values.count) pieces of \(pieces.length) bytes do not add up to \(size) bytes.")
        }
        for (index, value) in pieces.values.enumerated() {
            try checkDigest(value, pieces.algorithm, "pieces.values[\(index)]")
        }
    }

    private func checkMirror(_ mirror: String, _ field: String) throws(TransferError) {
        let url = try parsed(mirror, field)
        guard Mirrors.schemes.contains(url.scheme) else {
            throw bad(field, "a mirror is at http, https, ftp, ftps or sftp.")
        }
        if let why = url.whyNoFile { throw bad(field, why) }
    }
}

// MARK: - Cookies

extension SpecRules {
    /// Checks cookies that a client gives in the member `cookies`.
    /// - Throws: `request.bad_field`.
    package func check(_ cookies: [Cookie]) throws(TransferError) {
        for index in cookies.indices { try check(cookies[index], "cookies[\(index)]") }
    }

    /// Checks the initial cookies of a task's own jar.
    func checkCookies(_ spec: TaskSpec, _ url: ParsedURL?) throws(TransferError) {
        guard let cookies = spec.cookies else { return }
        guard cookies.count <= Bounds.cookiesOfTask else { throw bad("cookies", "at most \(Bounds.cookiesOfTask).") }
        guard url.map({ [.http, .https].contains($0.scheme) }) ?? true else {
            throw bad("cookies", "goes with http and https.")
        }
        try check(cookies)
    }

    /// Checks whether a server could have set the cookie.
    /// - Throws: `request.bad_field`.
    private func check(_ cookie: Cookie, _ field: String) throws(TransferError) {
        guard SetCookie.isStorable(name: cookie.name, value: cookie.value),
            !cookie.name.utf8.contains(UInt8(ascii: "=")),
            !(cookie.name + cookie.value).utf8.contains(UInt8(ascii: ";"))
        else {
            throw bad(
                field,
                "name and value have 1 to \(Bounds.cookie) bytes together, no control character and no semicolon; the name no equals sign."
            )
        }
        // A server cannot set them (RFC 6265bis section 5.6, step 5), and HTTP loses or refuses them at the end of a field.
        for (member, text) in [("name", cookie.name), ("value", cookie.value)] where Self.hasMargin(text) {
            throw bad("\(field).\(member)", "leave out the blanks and tabs at its beginning and end.")
        }
        var cookie = cookie
        cookie.domain = HostName.ofCookie(cookie.domain)
        let isHost = cookie.domain.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/;,=@?#".utf8.contains($0) }
        let isAddress =
            HostName.isAddress(cookie.domain)
            && cookie.domain.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        let labels = cookie.domain.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { !$0.isEmpty && !$0.utf8.contains { ":*[]".utf8.contains($0) } }
        guard !cookie.domain.isEmpty, cookie.domain.utf8.count <= 255, isHost, isAddress || isName else {
            throw bad("\(field).domain", "give a host name or an address.")
        }
        guard cookie.hostOnly || !PublicSuffixes.contains(cookie.domain) else {
            throw bad("\(field).domain", "it is a public suffix; set hostOnly.")
        }
        guard cookie.path.hasPrefix("/"), cookie.path.utf8.count <= Bounds.cookieAttribute,
            URLRules.firstControl(cookie.path) == nil
        else {
            throw bad(
                "\(field).path", "give a path that begins with a slash, of at most \(Bounds.cookieAttribute) bytes.")
        }
        guard CookieJar.keepsPrefix(cookie) else {
            throw bad(
                field,
                "`__Secure-`, `__Host-` and `sameSite: none` need `secure`; `__Host-` the path `/` and `hostOnly` too.")
        }
    }

    private static func hasMargin(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return false }
        return [first, last].contains { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
