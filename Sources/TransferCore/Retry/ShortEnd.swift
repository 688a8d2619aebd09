import TransferModel

/// A body that ended before its announced length: the length is wrong, or the connection broke. A single one does not
/// show which; `TaskMachine` counts equal ones.
package struct ShortEnd: Sendable, Hashable {
    /// Bytes of the file that are held, from its beginning.
    package var received: ByteCount
    /// Its length according to the server.
    package var announced: ByteCount
    /// Name for sentences.
    package var host: String
    /// This many equal ones in a row prove that the length is wrong.
    package var proof: Int

    /// The server ended the whole body twice in good order at the same byte: the file has no more.
    static let proofByBodies = 2
    /// Less clear: the connection broke at the same byte each time, or nothing came after the held bytes. A server in
    /// trouble for some seconds looks the same.
    static let proofByOthers = 6

    /// - Parameters:
    ///   - start: where the answer's body began in the file.
    ///   - end: where it should have ended.
    ///   - total: announced length of the file.
    ///   - saysEnd: the other side says when a body ends. Then an early end without any byte counts too; otherwise the
    ///     server may be starting.
    /// - Returns: nil if the end says nothing about the length.
    init?(
        _ outcome: ExchangeOutcome, from start: ByteCount, to end: ByteCount, of total: ByteCount, host: String,
        saysEnd: Bool = false
    ) {
        guard outcome.offset < end, outcome.offset > 0 || saysEnd else { return nil }
        let hasBytes = outcome.received > 0
        switch outcome.end {
        case .finished, .transport(code: Self.closedEarly, _):
            proof = start == 0 && (hasBytes || saysEnd) ? Self.proofByBodies : Self.proofByOthers
        case .transport, .stalled:
            guard start == 0, hasBytes else { return nil }
            proof = Self.proofByOthers
        case .stopped, .local, .aborted, .overrun, .refusedRedirect: return nil
        }
        received = outcome.offset
        announced = total
        self.host = host
    }

    /// CURLE_PARTIAL_FILE.
    private static let closedEarly = 18

    /// The task's error once the length is proven wrong.
    package var error: TransferError {
        TransferError(
            .integrityLength,
            "\(host) announces \(announced) bytes but sends only \(received) each time; ask its operator, or give another "
                + "URL.",
            retryable: false,
            details: [
                "announced": .integer(announced.rawValue), "received": .integer(received.rawValue),
                "host": .string(host),
            ])
    }
}

extension ShortBody {
    /// - Parameter known: what earlier attempts left.
    /// - Returns: nil as long as nothing was held.
    init?(_ failure: AttemptFailure, after known: ShortBody?) {
        let furthest = max(known?.furthest ?? .zero, failure.held)
        if let end = failure.shortEnd {
            let isAgain = known?.received == end.received && known?.announced == end.announced
            self.init(received: end.received, announced: end.announced, times: isAgain ? (known?.times ?? 0) + 1 : 1)
        } else {
            guard known != nil || furthest > .zero else { return nil }
            self = known ?? ShortBody(received: .zero, announced: .zero, times: 0)
        }
        if furthest > .zero { self.furthest = furthest }
    }
}
