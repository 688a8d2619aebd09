import TransferModel

/// What an exchange brought: an answer to act on, or none.
enum UploadAnswer {
    case head(ResponseHead, status: Int)
    case none

    /// - Parameter ofWhole: a success counts only if everything was sent.
    init(_ outcome: ExchangeOutcome, ofWhole: Bool = true) {
        guard let head = outcome.head, let status = head.status else {
            self = .none
            return
        }
        // The server does not have the rest.
        if ofWhole, (200..<300).contains(status), !outcome.isSentWhole {
            self = .none
            return
        }
        switch outcome.end {
        // A status that arrived is an answer, however the connection ended afterwards.
        case .finished, .transport, .stalled, .overrun, .stopped: self = .head(head, status: status)
        case .local, .aborted, .refusedRedirect: self = .none
        }
    }
}

extension ExchangeOutcome {
    /// Why there is no answer to act on.
    func failure(_ url: String) -> AttemptFailure {
        guard let status = head?.status, (200..<300).contains(status), !isSentWhole, end != .aborted else {
            return FailureClassifier.classify(self, url: url)
        }
        return FailureClassifier.transient(
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
