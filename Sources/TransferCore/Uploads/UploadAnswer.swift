import TransferModel

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
