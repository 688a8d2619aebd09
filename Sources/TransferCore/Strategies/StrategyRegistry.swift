import TransferModel

/// What a strategy is given: the task, its held bytes, and how to reach the server.
package struct StrategyRequest: Sendable {
    @Boxed package var spec: TaskSpec
    /// Its offset was verified against the part file; nil if nothing is held.
    @BoxedOptional package var checkpoint: Checkpoint?
    @Boxed package var network: NetworkOptions
    /// The finished file is compared with a digest from the caller, so bytes of two versions cannot go unnoticed.
    package var trustedDigest: Bool
    package var sessionHeaders: [HeaderField]
    package var now: Timestamp
    /// The open source of an upload, or the file of a request's body; nil if there is none.
    @BoxedOptional package var source: SourceIdentity?
    /// The stored progress of the upload; nil if it never began.
    @BoxedOptional package var upload: UploadProgress?
    /// Unpredictable text for multipart boundaries: letters and digits; nil = a new one when needed.
    package var nonce: String?
    /// Longest answer of a data request.
    package var dataLimit = ByteCount(Int64(Bounds.dataAnswer))
    /// Content codings that can be decoded here.
    package var codings = ContentCodingRules.Undoable.allCases
    /// Every final HTTP answer completes the task, whatever its status.
    package var acceptsAnyStatus = false
    package var resumesUnproven = false
    /// The header of the last answer, if bytes are held.
    package var lastHeaders: [HeaderField] = []
    /// A 401 or 407 that credentials can answer is not the task's answer: credentials are looked for, or a client is
    /// asked.
    package var asksChallenges = AskedChallenges.none
    /// Data tasks: what the client already has of a stream; nil if the body is kept.
    package var streamed: StreamedBody?
    package var redirects = RedirectRule.follow
    package var hold: ResponseHold?
    /// The mirror that is asked, as a checkpoint names it; nil = the task's own URL.
    package var mirror: String?

    package init(
        spec: TaskSpec, checkpoint: Checkpoint? = nil, network: NetworkOptions = NetworkOptions(),
        trustedDigest: Bool = false, sessionHeaders: [HeaderField] = [], now: Timestamp,
        source: SourceIdentity? = nil, upload: UploadProgress? = nil, nonce: String? = nil
    ) {
        self.init(
            sharing: Boxed(wrappedValue: spec), Boxed(wrappedValue: network), checkpoint: checkpoint,
            trustedDigest: trustedDigest, sessionHeaders: sessionHeaders, now: now, source: source, upload: upload,
            nonce: nonce)
    }

    /// Shares the boxes of the task and its policy: thousands of waiting transfers hold a request each.
    package init(
        sharing spec: Boxed<TaskSpec>, _ network: Boxed<NetworkOptions>, checkpoint: Checkpoint? = nil,
        trustedDigest: Bool = false, sessionHeaders: [HeaderField] = [], now: Timestamp,
        source: SourceIdentity? = nil, upload: UploadProgress? = nil, nonce: String? = nil
    ) {
        _spec = spec
        _network = network
        self.checkpoint = checkpoint
        self.trustedDigest = trustedDigest
        self.sessionHeaders = sessionHeaders
        self.now = now
        self.source = source
        self.upload = upload
        self.nonce = nonce
    }

    /// The task's URL.
    package var url: String? { spec.url }

    /// With a new URL, the task goes to another place, where nothing has begun.
    fileprivate func begun(at url: ParsedURL) -> StrategyRequest {
        guard upload.map({ !$0.belongs(to: url) }) ?? false else { return self }
        var request = self
        request.upload = nil
        return request
    }

    /// The fields that session and caller want, except those of `owned`.
    /// - Throws: `request.bad_field` if one cannot be sent.
    func headers(owned: Set<String> = RequestHeaders.owned) throws(TransferError) -> [HeaderField] {
        let headers = RequestHeaders.merge(session: sessionHeaders, task: spec.headers ?? [], owned: owned)
        try RequestHeaders.validate(headers)
        return headers
    }

    /// The body of a request that is not an upload.
    /// - Throws: `request.bad_field`, `source.changed`.
    func payload() throws(TransferError) -> Payload {
        let payload = try Payload(spec.body, source: source)
        if let source { try UploadRequest.checkUnchanged(source, upload) }
        return payload
    }

    package static func randomNonce() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    }
}

/// Knows which strategy serves which scheme; nothing else names the concrete types.
package enum StrategyRegistry {
    /// The strategy of a download.
    /// - Throws: `request.bad_url`, `request.bad_field`, `request.unsupported`, `policy.plaintext_refused`.
    package static func download(
        for request: StrategyRequest
    ) throws(TransferError) -> any TransferStrategy<Arrival> {
        let url = try admitted(request)
        return try download(request.begun(at: url), url)
    }

    /// The strategy of an upload or data task.
    /// - Throws: like `download(for:)`.
    package static func upload(
        for request: StrategyRequest
    ) throws(TransferError) -> any TransferStrategy<UploadResult> {
        let url = try admitted(request)
        return try upload(request.begun(at: url), url)
    }

    /// Refuses what the task's strategy would refuse.
    /// - Parameter url: the task's URL.
    /// - Throws: like `download(for:)`.
    package static func check(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        try checkPlaintext(request, url)
        switch request.$spec.wrappedValue.kind {
        case .download: _ = try download(request.begun(at: url), url)
        case .upload, .data: _ = try upload(request.begun(at: url), url)
        }
    }

    /// The task's parsed URL.
    private static func admitted(_ request: StrategyRequest) throws(TransferError) -> ParsedURL {
        let url = try URLRules.parse(request.url ?? "")
        try checkPlaintext(request, url)
        return url
    }

    private static func checkPlaintext(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        if request.$network.refuses(url) { throw .plaintextRefused(to: url) }
    }

    /// The strategy for a segmented download, or for one that has gaps; nil if that is not possible, or only one stream
    /// from one mirror is wanted.
    /// - Parameter others: further mirrors that segments may be requested from, under a digest of the whole file.
    package static func segmented(
        for request: StrategyRequest, beside others: OtherMirrors? = nil, _ policy: ConnectionPolicy
    ) throws(TransferError) -> SegmentedDownload? {
        guard request.spec.kind == .download,
            policy.most > 1 || request.checkpoint?.ranges.isEmpty == false || request.spec.mirrors?.isEmpty == false
        else { return nil }
        guard let single = try httpDownload(for: request)?.parting else { return nil }
        return SegmentedDownload(single, request, others, policy)
    }

    /// The strategy of a download over HTTP; nil for other protocols.
    /// - Throws: like `download(for:)`.
    static func httpDownload(for request: StrategyRequest) throws(TransferError) -> HTTPDownload? {
        let url = try admitted(request)
        switch url.scheme {
        case .http, .https: return try HTTPDownload(request.begun(at: url), url)
        case .ftp, .ftps, .sftp, .file, .data, .helper: return nil
        }
    }

    private static func download(
        _ request: StrategyRequest, _ url: ParsedURL
    ) throws(TransferError) -> any TransferStrategy<Arrival> {
        if case .answered(let status, let body) = request.redirects {
            guard request.acceptsAnyStatus, let body else { throw .redirectRefused(status) }
            let total = ByteCount(Int64(body.count))
            return AnsweredRequest(step: .finished(Arrival(total: total, lengthProven: true)))
        }
        switch url.scheme {
        case .http, .https, .helper: return try HTTPDownload(request, url)
        case .ftp, .ftps, .sftp: return try ProbedDownload(request, url)
        case .file: return FileDownload(request, url)
        case .data: return try DataURLDownload(request, url)
        }
    }
}

extension StrategyRegistry {
    private static func upload(
        _ request: StrategyRequest, _ url: ParsedURL
    ) throws(TransferError) -> any TransferStrategy<UploadResult> {
        switch url.scheme {
        case .http, .https, .helper:
            if case .answered(let status, let body) = request.redirects {
                guard request.acceptsAnyStatus else {
                    return AnsweredRequest(step: .failed(.permanent(.redirectRefused(status))))
                }
                return AnsweredRequest(step: .finished(UploadResult(head: nil, body: body ?? [], total: .zero)))
            }
            guard request.spec.kind == .upload else { return try DataRequest(request, url) }
            let strategy = try httpUpload(request, url)
            return request.acceptsAnyStatus
                ? AnyStatusUpload(
                    strategy, size: request.source?.size ?? .zero, asksChallenges: request.asksChallenges)
                : strategy
        case .ftp, .ftps, .sftp, .file, .data:
            guard request.spec.kind == .upload else {
                throw TransferError(
                    .unsupported, "Data tasks work over http and https only; for \(url.scheme.rawValue) add a download."
                )
            }
            guard url.scheme != .file, url.scheme != .data else {
                throw TransferError(
                    .unsupported, "Uploads go to http, https, ftp, ftps and sftp, not to \(url.scheme.rawValue).")
            }
            return try RemoteFileUpload(request, url)
        }
    }

    private static func httpUpload(
        _ request: StrategyRequest, _ url: ParsedURL
    ) throws(TransferError) -> any TransferStrategy<UploadResult> {
        let context = try UploadRequest(request, url)
        var choice = try UploadProtocol.chosen(by: request.spec, stored: request.upload)
        // A helper is not asked what it knows: `load` carries the whole body.
        if url.scheme == .helper { choice = choice ?? .put }
        guard let kind = choice else { return AutoUpload(context) }
        switch kind {
        case .put, .post, .multipart: return PlainUpload(context, kind)
        case .contentRange: return ContentRangeUpload(context)
        case .tus: return TusUpload(context)
        case .resumable: return ResumableUpload(context)
        case .s3Multipart:
            return try S3MultipartUpload(context)
        case .file:
            throw TransferError(.badField, "uploadProtocol: file is what FTP and SFTP use.")
        }
    }

    /// The request that ends a begun upload at its server (DELETE of tus, resumable, contentRange and S3); nil if the
    /// protocol has none or nothing began. Its answer has no further effect. `request.source` may be absent.
    package static func cancellation(for request: StrategyRequest) -> Exchange? {
        guard let upload = request.upload,
            let url = try? URLRules.parse(request.spec.url ?? "")
        else { return nil }
        var request = request
        let source = request.source ?? upload.source
        request.source = source
        // The file may have changed; the upload must still end.
        request.upload?.source = source
        guard let context = try? UploadRequest(request, url) else { return nil }
        if upload.uploadProtocol == .s3Multipart { return S3MultipartUpload.cancellation(context) }
        guard let resource = upload.resourceURL else { return nil }
        switch upload.uploadProtocol {
        case .tus: return TusUpload.cancellation(context, resource)
        case .resumable:
            return ResumableUpload.cancellation(context, resource, version: upload.interopVersion ?? 8)
        case .contentRange: return ContentRangeUpload.cancellation(context, resource)
        case .put, .post, .multipart, .s3Multipart, .file: return nil
        }
    }
}
