import TransferModel

/// What came back of an exchange: an answer to act on, or none.
enum UploadAnswer {
    case head(ResponseHead, status: Int)
    case none

    init(_ outcome: ExchangeOutcome) {
        guard let head = outcome.head, let status = head.status else {
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
    func uploadResult(total: ByteCount) -> UploadResult {
        UploadResult(head: head, body: body, isBodyTruncated: isBodyTruncated, total: total)
    }
}

extension ResponseHead {
    /// A non-negative integer field; nil where it is absent, repeated with other values, or no number.
    func count(_ name: String) -> ByteCount? {
        let values = Set(values(name).map(\.trimmed))
        guard values.count == 1, let text = values.first else { return nil }
        return ContentRange.number(text)
    }
}
