import TransferModel

/// What every upload over HTTP has, and how its exchanges are made.
struct UploadRequest: Sendable {
    let spec: TaskSpec
    private(set) var url: ParsedURL
    /// The task's URL, which says whether stored progress belongs to the task.
    private let target: ParsedURL
    let source: SourceIdentity
    let stored: UploadProgress?
    let now: Timestamp
    let nonce: String
    let redirects: RedirectRule
    /// The caller wrote `Expect: 100-continue`.
    private let wantsContinue: Bool
    private let headers: [HeaderField]
    @Boxed private(set) var network: NetworkOptions

    /// Fields that upload protocols set; they are dropped from those of callers.
    static let owned: Set<String> = [
        "content-range", "upload-offset", "upload-length", "upload-metadata", "upload-checksum",
        "upload-complete", "upload-incomplete", "upload-draft-interop-version", "upload-concat", "upload-defer-length",
        "tus-resumable", "x-upload-content-length", "x-upload-content-type",
    ]

    /// - Throws: `request.bad_field` if there is no source or a header cannot be sent, `source.changed`.
    init(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        guard let source = request.source else {
            throw TransferError.bad("source", "an upload needs a file to send.")
        }
        try Self.checkUnchanged(source, request.upload)
        spec = request.spec
        self.url = url
        target = url
        self.source = source
        stored = request.upload
        now = request.now
        redirects = request.redirects
        nonce = request.nonce ?? StrategyRequest.randomNonce()
        let merged = try request.headers()
        wantsContinue = Self.wantsContinue(merged)
        headers = merged.filter { !Self.owned.contains($0.name.lowercased()) && !$0.isNamed("expect") }
        var network = request.network
        network.chooseCredentials(for: url, headers)
        self.network = network
    }

    var size: ByteCount { source.size }

    /// Media type of the file: the spec's, otherwise that of the caller's header.
    var contentType: String? {
        spec.contentType ?? headers.first { $0.name.lowercased() == "content-type" }?.value
    }

    /// The file's name, for protocols that send one.
    var fileName: String { spec.uploadName ?? "file" }

    /// The request to the file's place in a folder (a WebDAV collection). If the URL does not end in a slash, or is
    /// signed in its query, it already is that place.
    var inFolder: UploadRequest {
        guard url.path.hasSuffix("/"), url.query == nil, let name = spec.uploadName,
            let place = try? URLRules.parse(url.requestURL + PathSegment.encoded(name))
        else { return self }
        var copy = self
        copy.url = place
        return copy
    }

    func progress(_ kind: UploadProtocol, at resource: String? = nil) -> UploadProgress {
        UploadProgress(uploadProtocol: kind, resourceURL: resource, source: source, createdAt: now).begun(at: target)
    }

    /// The digest that the caller wants sent.
    func digests(_ kind: PayloadDigest.Kind) -> [PayloadDigest] {
        spec.uploadChecksum.map { [PayloadDigest(kind, $0)] } ?? []
    }

    /// - Parameters:
    ///   - own: the protocol's fields; they replace the caller's fields of the same name.
    ///   - contentType: media type of the payload; if nil, not even the caller's is sent.
    func exchange(
        _ method: String, _ target: String, own: [HeaderField] = [], contentType: String? = nil,
        payload: Payload = .none
    ) -> Exchange {
        var exchange = Exchange(url: target, judge: CaptureJudge())
        exchange.kind = .request
        exchange.method = method
        exchange.payload = payload
        exchange.isUpload = true
        exchange.network = network
        var base = headers.filter { $0.name.lowercased() != "content-type" }
        if !isSameOrigin(target) {
            base.removeAll { !RequestHeaders.crossesOrigins($0.name) }
            exchange.network.dropIdentity()
        }
        let replaced = Set(own.map { $0.name.lowercased() })
        exchange.headers = base.filter { !replaced.contains($0.name.lowercased()) }
        exchange.ownHeaders = own
        if !base.contains(where: { $0.name.lowercased() == "accept-encoding" }) {
            exchange.ownHeaders.append(HeaderField("Accept-Encoding", "identity"))
        }
        if let contentType { exchange.ownHeaders.append(HeaderField("Content-Type", contentType)) }
        exchange.expectsContinue = wantsContinue && payload.sourceLength > 0
        return exchange
    }

    /// RFC 6454: if a server puts the upload at another origin, that gets none of the caller's secrets.
    private func isSameOrigin(_ target: String) -> Bool {
        guard let target = try? URLRules.parse(target) else { return false }
        return target.hostKey == url.hostKey || network.obeysHSTS && target.hostKey == url.securedHostKey
    }

    /// The place of the upload that the server names; it may not be unencrypted if the session forbids plain text.
    /// - Throws: `http.protocol`, `policy.plaintext_refused`.
    func location(_ outcome: ResponseHead) throws(TransferError) -> String? {
        guard let text = outcome.values("location").first?.trimmed, !text.isEmpty else { return nil }
        let target = try URLRules.resolve(text, against: outcome.url)
        if $network.refuses(target) { throw .plaintextRefused(to: target) }
        return target.requestURL
    }

    /// An answer that is not a success.
    func refused(_ head: ResponseHead) -> AttemptFailure { FailureClassifier.answered(head, now: now) }

    /// The upload with the place that a 104 (Upload Resumption Supported) names.
    func resumption(in head: ResponseHead, of begun: UploadProgress) -> UploadProgress? {
        guard head.status == 104, let resource = try? location(head) else { return nil }
        var heard = begun
        heard.resourceURL = resource
        return heard
    }

    static func wantsContinue(_ headers: [HeaderField]) -> Bool {
        headers.contains { $0.name.lowercased() == "expect" && $0.value.trimmed.lowercased() == "100-continue" }
    }

    /// - Throws: `source.changed` if the stored upload was begun with another file, or another version of it.
    static func checkUnchanged(_ source: SourceIdentity, _ upload: UploadProgress?) throws(TransferError) {
        guard let begun = upload?.source, begun != source else { return }
        throw TransferError(
            .sourceChanged,
            "The file has changed since its upload began; two versions are never mixed. task.retry with "
                + "sourceChanged sends it as it is now.")
    }
}

extension TaskSpec {
    /// The name of the file that is sent; nil if it has none.
    package var uploadName: String? {
        if let fileName { return fileName }
        let path = source?.path ?? body?.file ?? ""
        return path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { String($0) }
    }
}

extension UploadProgress {
    package func begun(at url: ParsedURL) -> UploadProgress {
        var copy = self
        copy.target = Self.target(url)
        return copy
    }

    /// Whether the task's URL still leads to this upload; tokens in the query may have been renewed.
    package func belongs(to url: ParsedURL) -> Bool { target == nil || target == Self.target(url) }

    private static func target(_ url: ParsedURL) -> String { url.hostKey + url.path }
}

/// Which upload protocol a spec asks for.
extension UploadProtocol {
    /// The values that `uploadProtocol` accepts.
    package static let names: [String] =
        ["auto"] + allCases.filter { $0 != .file }.map(\.rawValue)

    /// nil means that the server must be asked. A begun upload keeps its protocol.
    /// - Throws: `request.bad_field` for an unknown name.
    package static func chosen(
        by spec: TaskSpec, stored: UploadProgress? = nil
    ) throws(TransferError) -> UploadProtocol? {
        if let stored { return stored.uploadProtocol }
        guard let name = spec.uploadProtocol else { return implied(spec) }
        if name == "auto" { return nil }
        guard let kind = UploadProtocol(rawValue: name), kind != .file else {
            throw TransferError.bad(
                "uploadProtocol", "\"\(name.prefix(40))\" is none of \(names.joined(separator: ", ")).")
        }
        return kind
    }

    /// The protocol that other fields imply if none is named.
    private static func implied(_ spec: TaskSpec) -> UploadProtocol? {
        if spec.s3 != nil { return .s3Multipart }
        if spec.formField != nil || spec.formFields != nil { return .multipart }
        switch spec.method?.uppercased() {
        case "PUT"?: return .put
        case "POST"?: return .post
        case .some: return .put
        case nil: return nil
        }
    }
}

extension ExchangeOutcome {
    /// An answer to act on; nil if there is none.
    /// - Parameter ofWhole: a success counts only if everything was sent.
    func answer(ofWhole: Bool = true) -> (head: ResponseHead, status: Int)? {
        guard let head, let status = head.status else { return nil }
        // The server does not have the rest.
        if ofWhole, (200..<300).contains(status), !isSentWhole { return nil }
        switch end {
        // A status that arrived is an answer, however the connection ended afterwards.
        case .finished, .transport, .stalled, .overrun, .stopped: return (head, status)
        case .local, .aborted, .refusedRedirect: return nil
        }
    }

    /// Why there is no answer to act on.
    func failure(_ url: String) -> AttemptFailure {
        guard let status = head?.status, (200..<300).contains(status), !isSentWhole, end != .aborted else {
            return FailureClassifier.classify(self, url: url)
        }
        return .transient(
            .networkLost,
            "\(FailureClassifier.host(of: url)) answered \(status) before it had the whole file, and took no more of it."
        )
    }

    func uploadResult(total: ByteCount) -> UploadResult {
        UploadResult(head: head, body: body, isBodyTruncated: isBodyTruncated, total: total)
    }
}

extension ResponseHead {
    /// A field with a non-negative integer; nil if it is absent, repeated with other values, or not a number.
    func count(_ name: String) -> ByteCount? {
        let values = Set(values(name).map(\.trimmed))
        guard values.count == 1, let text = values.first else { return nil }
        return ContentRange.number(text)
    }
}
