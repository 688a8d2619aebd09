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
        switch stage {
        case .sending(let part): return sent(part, outcome)
        case .completing: return completed(outcome)
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
                payload: .bytes(S3Completion.request(state.partETags)))
        }
        stage = .sending(part: part)
        let range = range(of: part)
        return request.exchange(
            "PUT", s3.partURLs[part - 1],
            payload: range.length == 0 ? .bytes([]) : .source(offset: range.offset, length: range.length))
    }

    private func range(of part: Int) -> PayloadRange {
        let offset = ByteCount(Int64(part - 1) * s3.partSize.rawValue)
        return PayloadRange(offset: offset, length: min(request.size - offset, s3.partSize))
    }

    // MARK: Answers

    private mutating func sent(_ part: Int, _ outcome: ExchangeOutcome) -> Step<UploadResult> {
        guard let (head, status) = outcome.answer() else {
            return fail(outcome.failure(s3.partURLs[part - 1]))
        }
        guard (200..<300).contains(status) else {
            let isUntold = S3Completion.isUntold(outcome, status)
            return fail(
                isUntold
                    ? FailureClassifier.classify(outcome, url: s3.partURLs[part - 1]) : refused(head, outcome))
        }
        guard let etag = head.values("etag").first?.trimmed, !etag.isEmpty else {
            return fail(
                .permanent(
                    .httpProtocol, "The store accepted part \(part) without an ETag; the upload cannot be completed."))
        }
        state.partETags[part] = etag
        count()
        return go()
    }

    private mutating func completed(_ outcome: ExchangeOutcome) -> Step<UploadResult> {
        // A 200 is sent before the store knows the result; only the whole body tells it.
        guard let (head, status) = outcome.answer(),
            !S3Completion.isUntold(outcome, status)
        else {
            state.awaitsAnswer = mayBeDone(outcome)
            return fail(FailureClassifier.classify(outcome, url: s3.completeURL))
        }
        let refusal = S3Completion.error(outcome.body)
        if (200..<300).contains(status), refusal == nil {
            return .finished(outcome.uploadResult(total: request.size))
        }
        state.awaitsAnswer = completionWasSent || S3Completion.leavesOpen(refusal?.code, status)
        switch refusal?.code {
        case "InvalidPart"?, "InvalidPartOrder"?: return startAnew()
        case "NoSuchUpload"? where completionWasSent:
            return fail(
                .permanent(
                    .httpProtocol,
                    "The store no longer knows the upload; its completion was sent before and the answer lost, "
                        + "so the object is most likely there. Look, then remove the task."))
        case let code?: return fail(S3Completion.failure(code, refusal?.message, status, head, now: request.now))
        case nil: return fail(refused(head, outcome))
        }
    }

    /// Whether the upload may be complete although there is no answer: by this request, or by an earlier one.
    private func mayBeDone(_ outcome: ExchangeOutcome) -> Bool {
        let length = ByteCount(Int64(S3Completion.request(state.partETags).count))
        return completionWasSent || !RepeatRules.mayRepeat("POST", payload: length, after: outcome)
    }

    /// The store has lost parts that it had confirmed. They are all sent again, once.
    private mutating func startAnew() -> Step<UploadResult> {
        guard state.restarts == nil else {
            return fail(
                .permanent(
                    .httpStatus,
                    "The store is again missing parts that it had confirmed; begin another multipart upload for the file."
                ))
        }
        state = request.progress(.s3Multipart)
        state.restarts = 1
        return .restart(
            TransferError(
                .httpStatus, "The store is missing parts that it had confirmed; they are sent again.", retryable: true),
            then: following())
    }

    private func refused(_ head: ResponseHead, _ outcome: ExchangeOutcome) -> AttemptFailure {
        if let (code, message) = S3Completion.error(outcome.body) {
            return S3Completion.failure(code, message, head.status ?? 0, head, now: request.now)
        }
        return FailureClassifier.answered(head, now: request.now)
    }

    private mutating func count() {
        state.offset = state.partETags.keys.map { range(of: $0).length }.reduce(0, +)
    }

    private func fail(_ failure: AttemptFailure) -> Step<UploadResult> {
        .failed(failure.with(progressed: state.partETags.count > partsBefore, held: state.offset))
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
