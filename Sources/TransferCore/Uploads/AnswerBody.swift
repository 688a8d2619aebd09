import TransferModel

/// Decides what happens to the body of an answer that is kept and may have content codings.
package enum AnswerBody: Sendable, Hashable {
    case asItCame
    /// Codings to decode, the outermost first.
    case coded([ContentCodingRules.Undoable])
    /// There is no body to keep; with an error if that makes the answer unusable.
    case unreadable(TransferError?)

    /// Part of a body (206) stays as it came: it begins in the middle of the coded body.
    package init(_ head: ResponseHead, decodes: Bool) {
        guard decodes, head.status != 206, let coding = head.contentCoding else {
            self = .asItCame
            return
        }
        self = ContentCodingRules.undoingAll(coding).map { .coded($0) } ?? .unreadable(Self.unknown(coding))
    }

    /// The same for a body that is here.
    package init(of outcome: ExchangeOutcome, to exchange: Exchange) {
        self.init(outcome.head ?? ResponseHead(url: ""), decodes: exchange.decodesBody && !outcome.body.isEmpty)
        if self != .asItCame, !outcome.isWhole || outcome.isBodyTruncated { self = .unreadable(nil) }
    }

    static func unknown(_ coding: String) -> TransferError {
        TransferError(
            .httpProtocol,
            "The server sent the answer coded (\(coding.prefix(80))), which was not asked for and which dld does not decode. "
                + "With your own Accept-Encoding field you get it as it is sent.")
    }
}

extension ExchangeOutcome {
    /// Replaces the coded body by the decoded one; nil if that is longer than may be kept.
    package mutating func keep(_ decoded: [UInt8]?) {
        body = decoded ?? []
        isBodyTruncated = decoded == nil
    }

    /// The body ended as its header announced, as far as it was read.
    fileprivate var isWhole: Bool {
        if case .stopped(.redirect) = end { true } else { end == .finished }
    }

    /// Drops a body that cannot be decoded. The answer then no longer counts as complete.
    package mutating func dropBody(because error: TransferError?) {
        body = []
        if case .stopped(.redirect) = end { isBodyTruncated = true }
        if let error, end == .finished { end = .stopped(.failure(error, retryAfter: nil)) }
    }
}
