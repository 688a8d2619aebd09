import TransferModel

/// The documents of S3's CompleteMultipartUpload, which may report an error under status 200.
enum S3Completion {
    /// Errors that a later attempt may not meet again.
    private static let transient: Set<String> = [
        "InternalError", "ServiceUnavailable", "SlowDown", "RequestTimeout", "OperationAborted", "Throttling",
    ]

    static func request(_ etags: [Int: String]) -> [UInt8] {
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
