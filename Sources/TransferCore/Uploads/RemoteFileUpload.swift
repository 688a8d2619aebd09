import TransferModel

/// Uploads over FTP and SFTP: the size of the remote file says where to resume, if the file there is ours.
package struct RemoteFileUpload: TransferStrategy {
    private enum Stage {
        case probing
        case sending(from: ByteCount)
        case verifying
    }

    private let url: ParsedURL
    /// Where the file goes: `url`, or its name in that folder if `url` is a folder.
    private let place: String
    private let source: SourceIdentity
    private let network: NetworkOptions
    private let now: Timestamp
    private let startOffset: ByteCount
    private var stage = Stage.probing
    private var isResuming: Bool
    private var restarts = 0
    package private(set) var upload: UploadProgress?
    package var progress: Acceptance? { nil }

    /// libcurl's errors for a missing file on FTP and SFTP.
    private static let absent: Set<Int> = [9, 19, 78]
    /// libcurl's errors if the server cannot resume from an offset.
    private static let cannotResume: Set<Int> = [31, 33, 36]

    /// - Throws: `request.bad_field` if there is no source, or no name for it in a folder; `source.changed`.
    init(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        guard let source = request.source else {
            throw TransferError.bad("source", "an upload needs a file to send.")
        }
        try UploadRequest.checkUnchanged(source, request.upload)
        self.url = url
        place = try Self.place(of: request.spec, at: url)
        self.source = source
        now = request.now
        var network = request.network
        network.chooseCredentials(for: url, [])
        self.network = network
        upload = request.upload?.uploadProtocol == .file ? request.upload : nil
        isResuming = upload != nil
        startOffset = upload?.offset ?? 0
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        guard let outcome else { return .run(probe()) }
        do throws(AttemptFailure) {
            switch stage {
            case .probing: return try probed(outcome)
            case .sending(let offset): return try sent(outcome, from: offset)
            case .verifying: return try verified(outcome)
            }
        } catch {
            let offset = upload?.offset ?? 0
            return .failed(error.with(progressed: offset > startOffset, held: offset))
        }
    }

    /// A URL that ends in a slash is the folder that the file goes into: a file cannot be stored under a folder's name.
    private static func place(of spec: TaskSpec, at url: ParsedURL) throws(TransferError) -> String {
        guard url.path.isEmpty || url.path.hasSuffix("/") else { return url.requestURL }
        guard let name = spec.uploadName else {
            throw TransferError.bad(
                "url", "it is a folder, and the body has no name; end the URL with a name, or give fileName.")
        }
        guard !name.contains("/"), name != ".", name != ".." else {
            throw TransferError.bad("fileName", "one name, without a slash.")
        }
        let folder = url.path.isEmpty ? url.requestURL + "/" : url.requestURL
        return folder + PathSegment.encoded(name)
    }

    private func exchange(_ kind: Exchange.Kind) -> Exchange {
        var exchange = Exchange(url: place, judge: ProbeJudge())
        exchange.kind = kind
        exchange.network = network
        return exchange
    }

    private mutating func probe() -> Exchange {
        stage = .probing
        return exchange(.probe)
    }

    private mutating func send(from offset: ByteCount) -> Exchange {
        stage = .sending(from: offset)
        var exchange = exchange(.request)
        exchange.judge = ProbeJudge(isStrict: true)
        exchange.startOffset = offset
        exchange.payload = .source(offset: offset, length: source.size - offset)
        return exchange
    }

    // MARK: Probe

    /// The server's file of this name; nil if there is none.
    private func remote(_ outcome: ExchangeOutcome) throws(AttemptFailure) -> RemoteFile? {
        switch outcome.end {
        case .finished:
            guard let head = outcome.head, head.size != nil || head.modificationTime != nil else { return nil }
            return RemoteFile(size: head.size, modificationTime: head.modificationTime)
        case .transport(let code, _) where Self.absent.contains(code): return nil
        case .transport, .stopped, .local, .aborted, .stalled, .overrun, .refusedRedirect:
            throw FailureClassifier.classify(outcome, url: place)
        }
    }

    private mutating func probed(_ outcome: ExchangeOutcome) throws(AttemptFailure) -> Step<UploadResult> {
        let found = try remote(outcome)
        let offset = isResuming ? resumable(found) : 0
        if offset == 0 {
            var begun = UploadProgress(uploadProtocol: .file, source: source, createdAt: now).begun(at: url)
            begun.remoteBefore = isResuming ? upload?.remoteBefore : found
            upload = begun
            return .store(begun, then: send(from: 0))
        }
        upload?.offset = offset
        if offset == source.size { return .finished(UploadResult(head: outcome.head, total: offset)) }
        return .stored(upload, then: send(from: offset))
    }

    /// Bytes of our file that are there; 0 if the file there may belong to somebody else, or is longer than ours.
    private func resumable(_ found: RemoteFile?) -> ByteCount {
        guard let found, let size = found.size, (0...source.size).contains(size) else { return 0 }
        if let before = upload?.remoteBefore, before.size == size {
            // As far as anyone can tell, the same file as before the upload began.
            guard let then = before.modificationTime, let now = found.modificationTime, then != now else { return 0 }
        }
        return size
    }

    // MARK: Sending

    private mutating func sent(
        _ outcome: ExchangeOutcome, from offset: ByteCount
    ) throws(AttemptFailure) -> Step<UploadResult> {
        switch outcome.end {
        case .finished:
            stage = .verifying
            return .run(exchange(.probe))
        case .transport(let code, _) where offset > 0 && Self.cannotResume.contains(code):
            let error = TransferError(
                .httpProtocol, "The server cannot continue the file; it is sent from 0.", retryable: true)
            try countRestart(error)
            upload?.offset = 0
            isResuming = false
            return .restart(error, then: probe())
        // The length of the remote file changed between probe and sending: bytes of a lost connection arrived late, or
        // somebody else writes there.
        case .stopped(.restart(let error)) where offset > 0:
            try countRestart(error)
            return .run(probe())
        case .transport, .stopped, .local, .aborted, .stalled, .overrun, .refusedRedirect:
            throw FailureClassifier.classify(outcome, url: place)
        }
    }

    private mutating func countRestart(_ error: TransferError) throws(AttemptFailure) {
        restarts += 1
        guard restarts <= UploadTrack.restartLimit else { throw .transient(error) }
    }

    private mutating func verified(_ outcome: ExchangeOutcome) throws(AttemptFailure) -> Step<UploadResult> {
        let found = try remote(outcome)
        // A server that does not report sizes has accepted every byte without complaint.
        guard let size = found?.size, size != source.size else {
            upload?.offset = source.size
            return .finished(UploadResult(head: outcome.head, total: source.size))
        }
        // Somebody else writes there, or bytes were lost in the middle: none of it can be trusted.
        upload = nil
        throw .transient(
            .integrityLength, "The server has \(size) bytes of \(source.size); the upload begins again from 0.")
    }
}
