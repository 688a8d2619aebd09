import TransferModel

/// Uploads to S3 through presigned URLs: one part after another, only the missing ones, then the completion.
package struct S3MultipartUpload: TransferStrategy {
    private enum Stage {
        case sending(part: Int)
        case completing
    }

    private let request: UploadRequest
    private let s3: S3Upload
    private let parts: Int
    private var stage = Stage.completing
    private var state: UploadProgress
    /// Parts that were uploaded when the attempt began.
    private let partsBefore: Int
    /// An earlier attempt sent it and did not learn the result.
    private let completionWasSent: Bool
    package var upload: UploadProgress? { state }
    package var progress: Acceptance? { nil }

    /// - Throws: `request.bad_field`, `request.bad_url`, `policy.plaintext_refused`.
    init(_ request: UploadRequest) throws(TransferError) {
        guard let s3 = request.spec.s3 else {
            throw TransferError.bad("s3", "s3Multipart needs partURLs, partSize and completeURL.")
        }
        guard s3.partSize > 0 else { throw TransferError.bad("s3.partSize", "at least 1.") }
        let needed = max(1, (request.size.rawValue - 1) / s3.partSize.rawValue + 1)
        guard needed <= 10_000, needed <= s3.partURLs.count else {
            throw TransferError.bad(
                "s3.partURLs", "the file needs \(needed) parts of this size; \(s3.partURLs.count) are given.")
        }
        for text in s3.partURLs.prefix(Int(needed)) + [s3.completeURL] + [s3.abortURL].compactMap({ $0 }) {
            let url = try URLRules.parse(text)
            guard url.scheme == .http || url.scheme == .https else {
                throw TransferError.bad("s3", "its URLs are http or https.")
            }
            if request.$network.refuses(url) { throw .plaintextRefused(to: url) }
        }
        self.request = request
        self.s3 = s3
        parts = Int(needed)
        let stored = request.stored?.uploadProtocol == .s3Multipart ? request.stored : nil
        state = stored ?? request.progress(.s3Multipart)
        partsBefore = state.partETags.count
        completionWasSent = state.awaitsAnswer
    }

    /// Ends the upload at the store; nil if the client gave no URL for that.
    static func cancellation(_ request: UploadRequest) -> Exchange? {
        request.spec.s3?.abortURL.map { request.exchange("DELETE", $0) }
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        guard let outcome else { return go() }
        do throws(AttemptFailure) {
            switch stage {
            case .sending(let part): return try sent(part, outcome)
            case .completing: return try completed(outcome)
            }
        } catch {
            return .failed(error.with(progressed: state.partETags.count > partsBefore, held: state.offset))
        }
    }

    /// Making the completion marks it as begun, so the state is read afterwards.
    private mutating func go() -> Step<UploadResult> {
        let exchange = following()
        return .store(state, then: exchange)
    }

    // MARK: Requests

    /// The first missing part, or the completion.
    private mutating func following() -> Exchange {
        guard let part = (1...parts).first(where: { state.partETags[$0] == nil }) else {
            stage = .completing
            state.awaitsAnswer = true
            return request.exchange(
                "POST", s3.completeURL, contentType: "application/xml",
                payload: .bytes(Self.completion(state.partETags)))
        }
        stage = .sending(part: part)
        return request.exchange("PUT", s3.partURLs[part - 1], payload: .part(range(of: part)))
    }

    private func range(of part: Int) -> ByteRange {
        let start = ByteCount(Int64(part - 1) * s3.partSize.rawValue)
        return ByteRange(start, min(request.size, start + s3.partSize))
    }

    // MARK: Answers

    private mutating func sent(_ part: Int, _ outcome: ExchangeOutcome) throws(AttemptFailure) -> Step<UploadResult> {
        let url = s3.partURLs[part - 1]
        guard let (head, status) = outcome.answer() else { throw outcome.failure(url) }
        guard (200..<300).contains(status) else {
            throw Self.isUntold(outcome, status)
                ? FailureClassifier.classify(outcome, url: url) : refused(head, outcome)
        }
        guard let etag = head.values("etag").first?.trimmed, !etag.isEmpty else {
            throw .permanent(
                .httpProtocol, "The store accepted part \(part) without an ETag; the upload cannot be completed.")
        }
        state.partETags[part] = etag
        state.offset = state.partETags.keys.map { range(of: $0).count }.reduce(0, +)
        return go()
    }

    private mutating func completed(_ outcome: ExchangeOutcome) throws(AttemptFailure) -> Step<UploadResult> {
        // A 200 is sent before the store knows the result; only the whole body tells it.
        guard let (head, status) = outcome.answer(), !Self.isUntold(outcome, status) else {
            state.awaitsAnswer = mayBeDone(outcome)
            throw FailureClassifier.classify(outcome, url: s3.completeURL)
        }
        let refusal = Self.error(outcome.body)
        if (200..<300).contains(status), refusal == nil {
            return .finished(outcome.uploadResult(total: request.size))
        }
        state.awaitsAnswer = completionWasSent || Self.leavesOpen(refusal?.code, status)
        switch refusal?.code {
        case "InvalidPart"?, "InvalidPartOrder"?: return try startAnew()
        case "NoSuchUpload"? where completionWasSent:
            throw .permanent(
                .httpProtocol,
                "The store no longer knows the upload; its completion was sent before and the answer lost, "
                    + "so the object is most likely there. Look, then remove the task.")
        default: throw refused(head, outcome)
        }
    }

    /// Whether the upload may be complete although there is no answer: by this request, or by an earlier one.
    private func mayBeDone(_ outcome: ExchangeOutcome) -> Bool {
        let length = ByteCount(Int64(Self.completion(state.partETags).count))
        return completionWasSent || !RepeatRules.mayRepeat("POST", payload: length, after: outcome)
    }

    /// The store has lost parts that it had confirmed. They are all sent again, once.
    private mutating func startAnew() throws(AttemptFailure) -> Step<UploadResult> {
        guard state.restarts == nil else {
            throw .permanent(
                .httpStatus,
                "The store is again missing parts that it had confirmed; begin another multipart upload for the file.")
        }
        state = request.progress(.s3Multipart)
        state.restarts = 1
        return .restart(
            TransferError(
                .httpStatus, "The store is missing parts that it had confirmed; they are sent again.", retryable: true),
            then: following())
    }

    private func refused(_ head: ResponseHead, _ outcome: ExchangeOutcome) -> AttemptFailure {
        if let (code, message) = Self.error(outcome.body) {
            return Self.failure(code, message, head.status ?? 0, head, now: request.now)
        }
        return request.refused(head)
    }
}

extension S3Upload {
    /// Whether these URLs lead to the same multipart upload as those of `other`. Compared by `uploadId`, which a store
    /// gives only once, regardless of its host's name; without one, by place. URLs are signed again when those of a
    /// waiting upload have expired.
    package func isSameUpload(as other: S3Upload) -> Bool {
        if let abortURL, abortURL == other.abortURL { return true }
        let (mine, theirs) = (identity, other.identity)
        return mine.id == nil && theirs.id == nil ? mine.place == theirs.place : mine.id == theirs.id
    }

    private var identity: (place: Substring?, id: Substring?) {
        guard let url = partURLs.first else { return (nil, nil) }
        let (place, query) = Self.parted(url)
        return (place, query.split(separator: "&").first { $0.hasPrefix("uploadId=") })
    }

    private static func parted(_ url: String) -> (place: Substring, query: Substring) {
        guard let mark = url.firstIndex(of: "?") else { return (url[...], "") }
        return (url[..<mark], url[url.index(after: mark)...])
    }
}

extension TaskSpec {
    /// The progress of a multipart upload that a client has begun at the store, before any part is sent. With it, the
    /// upload can be ended at the store if the task never runs. nil if there is no URL to end it, and for other
    /// uploads, which begin with their first request.
    package func s3Progress(of source: SourceIdentity?, at now: Timestamp) -> UploadProgress? {
        guard kind == .upload, s3?.abortURL != nil, let url = try? URLRules.parse(url ?? "") else { return nil }
        return UploadProgress(uploadProtocol: .s3Multipart, source: source, createdAt: now).begun(at: url)
    }
}

/// The documents of S3's CompleteMultipartUpload, which may report an error under status 200.
extension S3MultipartUpload {
    /// Errors that a later attempt may not meet again.
    private static let transient: Set<String> = [
        "InternalError", "ServiceUnavailable", "SlowDown", "RequestTimeout", "OperationAborted", "Throttling",
    ]

    static func completion(_ etags: [Int: String]) -> [UInt8] {
        var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for (part, etag) in etags.sorted(by: { $0.key < $1.key }) {
            text += "<Part><PartNumber>\(part)</PartNumber><ETag>\(escaped(etag))</ETag></Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }

    /// Code and message of an error document; nil if the body is not one.
    static func error(_ body: [UInt8]) -> (code: String, message: String?)? {
        let text = String(decoding: body, as: UTF8.self)
        guard rootName(text) == "Error" else { return nil }
        return (element("Code", text) ?? "unknown", element("Message", text))
    }

    /// The answer broke off before it said what its status means: anywhere in a 200, otherwise before the error's code.
    static func isUntold(_ outcome: ExchangeOutcome, _ status: Int) -> Bool {
        if outcome.end == .finished || FailureClassifier.transientStatuses.contains(status) { return false }
        return (200..<300).contains(status) || element("Code", String(decoding: outcome.body, as: UTF8.self)) == nil
    }

    /// Whether the store may have completed the upload anyway: it failed, or began its answer before it knew.
    static func leavesOpen(_ code: String?, _ status: Int) -> Bool {
        status >= 500 || (200..<300).contains(status) && code.map(transient.contains) == true
    }

    static func failure(
        _ code: String, _ message: String?, _ status: Int, _ head: ResponseHead, now: Timestamp
    ) -> AttemptFailure {
        let isTransient = transient.contains(code) || FailureClassifier.transientStatuses.contains(status)
        let said = message.map { ": \($0.prefix(300))" } ?? ""
        let end = isTransient ? (said.hasSuffix(".") ? "" : ".") : "; \(advice(code))"
        let error = TransferError(
            .httpStatus, "The store answered \(code.prefix(60))\(said)\(end)", retryable: isTransient,
            details: ["status": .integer(Int64(status)), "s3": .string(String(code.prefix(60)))])
        return AttemptFailure(
            error: error,
            disposition: isTransient ? .transient(after: FailureClassifier.retryAfter(head, now: now)) : .permanent)
    }

    /// What to do about a permanent error.
    private static func advice(_ code: String) -> String {
        switch code {
        case "EntityTooSmall": "every part but the last must have 5 MiB or more: choose a larger partSize."
        case "EntityTooLarge": "no part may have more than 5 GiB: choose a smaller partSize."
        case "NoSuchUpload": "it was ended or completed; begin another multipart upload for the file."
        case "NoSuchBucket": "check the bucket's name in the presigned URLs."
        case "SignatureDoesNotMatch", "AuthorizationQueryParametersError", "InvalidRequest":
            "the URLs must be signed for this method, for these headers and for nothing else."
        case "AccessDenied", "ExpiredToken", "RequestExpired", "InvalidAccessKeyId", "InvalidToken":
            "check that the presigned URLs have not expired and that their key may write there."
        default: "see what the store's manual says of this error, and add the task again."
        }
    }

    /// Name of the outermost element, without prefix.
    private static func rootName(_ text: String) -> String? {
        var rest = text[...]
        while let open = rest.firstIndex(of: "<") {
            rest = rest[rest.index(after: open)...]
            if rest.hasPrefix("!--") {
                guard let end = rest.firstRange(of: "-->")?.upperBound else { return nil }
                rest = rest[end...]
                continue
            }
            // The XML declaration comes before the root.
            guard let first = rest.first, first != "?", first != "!" else { continue }
            let name = rest.prefix { !" \t\r\n>/".contains($0) }
            return name.split(separator: ":").last.map(String.init)
        }
        return nil
    }

    private static func element(_ name: String, _ text: String) -> String? {
        guard let start = text.firstRange(of: "<\(name)>")?.upperBound,
            let end = text[start...].firstRange(of: "</\(name)>")?.lowerBound
        else { return nil }
        return String(text[start..<end])
    }

    private static func escaped(_ text: String) -> String {
        text.map { character in
            switch character {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"": "&quot;"
            default: String(character)
            }
        }.joined()
    }
}
