import TransferModel

/// One request that carries the whole file (put, post, multipart). No standard allows it to be resumed, so it starts
/// over from 0, and only if that cannot make the server act twice.
package struct PlainUpload: TransferStrategy {
    private let request: UploadRequest
    private let kind: UploadProtocol
    private let method: String
    package private(set) var upload: UploadProgress?
    package var progress: Acceptance? { nil }

    /// - Parameter kind: put, post or multipart.
    init(_ request: UploadRequest, _ kind: UploadProtocol) {
        self.request = request
        self.kind = kind
        method = request.spec.method ?? (kind == .put ? "PUT" : "POST")
        upload = request.stored
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        guard let outcome else { return first() }
        guard outcome.end.redirect == nil, let (head, status) = outcome.answer() else {
            return .failed(concluded(outcome.failure(request.url.requestURL), outcome))
        }
        guard (200..<300).contains(status) else {
            return .failed(concluded(request.refused(head), outcome))
        }
        return .finished(outcome.uploadResult(total: request.size))
    }

    private mutating func first() -> Step<UploadResult> {
        if upload?.awaitsAnswer == true {
            upload = nil
            return .failed(Self.unknownAnswer)
        }
        guard !RepeatRules.isIdempotent(method) else { return .run(exchange()) }
        var begun = request.progress(kind)
        begun.awaitsAnswer = true
        upload = begun
        return .store(begun, then: exchange())
    }

    private func exchange() -> Exchange {
        let form = kind == .multipart ? MultipartForm(request) : nil
        let type = request.contentType ?? (kind == .post ? "application/octet-stream" : nil)
        var exchange = request.exchange(
            method, request.url.requestURL, contentType: form?.contentType ?? type,
            payload: form?.payload ?? .source(offset: 0, length: request.size))
        // A form is not a representation of the target; its digest is that of the message.
        exchange.digests = request.digests(kind == .multipart ? .content : .representation)
        exchange.redirects = request.redirects
        return exchange
    }

    private mutating func concluded(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> AttemptFailure {
        upload.conclude(failure, method: method, payload: exchange().payload.length, outcome: outcome)
    }

    /// The request was interrupted while it was under way, for example by the end of the daemon.
    static var unknownAnswer: AttemptFailure {
        .permanent(
            .networkLost,
            "The request was interrupted before its answer arrived; whether the server acted on it is not known. "
                + "Look there, then task.retry.")
    }
}

extension AttemptFailure {
    /// The failure, made permanent if another try could make the server act twice.
    func finalIfUnrepeatable(_ method: String, payload: ByteCount?, _ outcome: ExchangeOutcome) -> AttemptFailure {
        guard case .transient = disposition, !RepeatRules.mayRepeat(method, payload: payload, after: outcome) else {
            return self
        }
        return final(" A \(method) request is not repeated by itself.")
    }
}

extension UploadProgress? {
    /// What the end of a request means, which is not repeated by itself if the server may have acted on it.
    mutating func conclude(
        _ failure: AttemptFailure, method: String, payload: ByteCount?, outcome: ExchangeOutcome
    ) -> AttemptFailure {
        // An abort after everything was sent leaves open whether the server acted.
        if case .aborted = outcome.end, !RepeatRules.mayRepeat(method, payload: payload, after: outcome) {
            return failure
        }
        self = nil
        return failure.finalIfUnrepeatable(method, payload: payload, outcome)
    }
}

/// A multipart/form-data body (RFC 7578): first the fields, then the file, so that servers know the fields when it
/// comes.
struct MultipartForm: Sendable {
    let boundary: String
    let payload: Payload

    var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    init(_ request: UploadRequest) {
        // Unpredictable, so that no file contains it intentionally; 1 to 70 characters (RFC 2046 section 5.1.1).
        let boundary = "dld-\(request.nonce)"
        var head = ""
        for (name, value) in (request.spec.formFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            head += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quoted(name))\"\r\n\r\n\(value)\r\n"
        }
        let field = Self.quoted(request.spec.formField ?? "file")
        head += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(field)\"; "
        head += "filename=\"\(Self.quoted(request.fileName))\"\r\n"
        head += "Content-Type: \(request.spec.contentType ?? MediaType.guess(request.fileName))\r\n\r\n"
        self.boundary = boundary
        payload = .framed(
            head: Array(head.utf8), offset: 0, length: request.size, tail: Array("\r\n--\(boundary)--\r\n".utf8))
    }

    /// Percent-encodes characters that would end the quoted string or the line; others are sent as UTF-8 (RFC 7578
    /// section 4.2 and the HTML standard).
    static func quoted(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "%22"
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
