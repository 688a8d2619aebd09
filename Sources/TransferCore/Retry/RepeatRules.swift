import TransferModel

/// Which requests may be sent again without asking the client (RFC 9110 section 9.2.2).
package enum RepeatRules {
    private static let idempotent: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]
    /// Statuses that say that a request was not acted on.
    private static let refusals: Set<Int> = [408, 421, 425, 429, 503]

    package static func isIdempotent(_ method: String) -> Bool { idempotent.contains(method) }

    /// Whether a download that was answered may be requested once more.
    package static func mayFetchAgain(_ spec: TaskSpec) -> Bool {
        isIdempotent(RequestHeaders.method(spec.method, hasBody: spec.body != nil))
    }

    /// Whether the server cannot have acted on the request, or acting on it twice is harmless.
    /// - Parameter payload: bytes of the request's body; nil if it has none.
    static func mayRepeat(_ method: String, payload: ByteCount?, after outcome: ExchangeOutcome) -> Bool {
        if isIdempotent(method) || outcome.continueRefused || !outcome.wasSent { return true }
        if outcome.becameGET { return false }
        if let status = outcome.head?.status { return refusals.contains(status) }
        // A request that was not sent completely is not a request yet: its length was announced (RFC 9112 section 8).
        // That count does not include an earlier try on a connection that died without an answer (52).
        if let payload, outcome.sent < payload, !diedUnanswered(outcome) { return true }
        switch outcome.end {
        case .transport(let code, _): return [5, 6, 7, 35].contains(code)
        case .finished, .stopped, .local, .aborted, .stalled, .overrun, .refusedRedirect: return false
        }
    }

    private static func diedUnanswered(_ outcome: ExchangeOutcome) -> Bool {
        if case .transport(let code, _) = outcome.end { code == 52 } else { false }
    }
}
