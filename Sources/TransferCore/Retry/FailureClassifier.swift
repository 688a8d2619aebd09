import TransferModel

/// Turns the end of an exchange into a cause, a sentence, and what happens to the task.
package enum FailureClassifier {
    /// HTTP statuses that a later attempt may not get again. An unknown 5xx is a 500 (RFC 9110 section 15). A 511 never comes from the server itself, but from a network that requires a login (RFC
    /// 6585 section 6).
    package static let transientStatuses = Set([408, 421, 423, 425, 429]).union(500...599)
        .subtracting([501, 505, 506, 507, 508, 510])

    /// - Parameter url: for the sentences; shown without user info and query values.
    package static func classify(_ outcome: ExchangeOutcome, url: String) -> AttemptFailure {
        let server = outcome.redirectedTo ?? url
        var failure = classify(outcome, server: server)
        failure.note(outcome.head)
        failure.heedProxy(of: outcome)
        switch outcome.end {
        case .transport where server != url, .stalled where server != url, .finished where server != url:
            failure.error.message += " \(host(of: url)) redirected the request to \(server)."
            failure.error.details[AttemptFailure.redirectedTo] = .string(server)
        case .transport, .stalled, .finished, .stopped, .local, .overrun, .refusedRedirect, .aborted: break
        }
        return failure
    }

    private static func classify(_ outcome: ExchangeOutcome, server url: String) -> AttemptFailure {
        switch outcome.end {
        case .stopped(.redirect(let target)):
            let error = httpStatus(outcome.head?.status ?? 0, reason: outcome.head?.reason, host: host(of: url))
            var failure = AttemptFailure(error: error, disposition: .permanent)
            failure.redirect = target
            failure.redirectBody = outcome.isBodyTruncated ? nil : outcome.body
            return failure
        case .stopped(let reason): return stopped(reason)
        case .transport(let code, let message):
            if let status = outcome.proxyStatus, status >= 400 {
                var failure = proxyRefused(status, outcome.proxy)
                failure.note(outcome.connectHead, isOfConnect: true)
                return failure
            }
            var failure = TransportFailures.classify(
                code: code, message: message, host: host(of: url), proxy: outcome.proxy, reply: outcome.reply)
            if let challenge = outcome.tls { failure.meet(challenge, of: host(of: url)) }
            return failure
        case .local(let errno, let operation): return LocalFailures.classify(errno: errno, operation: operation)
        case .stalled:
            let way = outcome.proxy.map { " through the proxy \($0)" } ?? ""
            // An endless header counts as sending something.
            let what = outcome.head == nil ? "did not answer in time" : "sent nothing for too long"
            return transient(.networkTimeout, "\(host(of: url)) \(what)\(way).")
        case .overrun:
            return transient(
                .integrityLength, "\(host(of: url)) sent more bytes than it announced; they were dropped.")
        case .refusedRedirect(let error): return AttemptFailure(error: error, disposition: .permanent)
        case .aborted:
            return transient(.networkLost, "The daemon interrupted the transfer.")
        case .finished:
            return transient(.networkLost, "\(host(of: url)) closed the connection before the end.")
        }
    }

    /// The meaning of an HTTP status that is not a success.
    package static func httpStatus(_ status: Int, reason: String?, host: String) -> TransferError {
        httpStatus(status, reason, host, proxy: "The proxy", answered: "\(host) answered")
    }

    /// The same for a proxy that answered in the server's place.
    /// - Parameter address: the proxy's address.
    static func proxyStatus(_ status: Int, reason: String?, address: String?) -> TransferError {
        let name = "The proxy" + (address.map { " \($0)" } ?? "")
        return httpStatus(status, reason, name, proxy: name, answered: "\(name) answered")
    }

    /// - Parameter proxy: the proxy's name in sentences.
    private static func httpStatus(
        _ status: Int, _ reason: String?, _ host: String, proxy: String, answered: String
    ) -> TransferError {
        let text = reason.flatMap { $0.isEmpty ? nil : "\(status) \($0)" } ?? "\(status)"
        let details: [String: JSONValue] = ["status": .integer(Int64(status))]
        switch status {
        case 401:
            return TransferError(
                .authRequired,
                "\(host) wants credentials (401); give a user name and password, a bearer token or a netrc file (task.update), "
                    + "then task.retry.",
                details: details)
        case 407:
            return TransferError(
                .authRequired,
                "\(proxy) wants credentials (407); put user:password into its URL (task.update, proxy), then task.retry.",
                details: details)
        case 202:
            return TransferError(.httpStatus, "\(answered) \(text): not ready yet.", retryable: true, details: details)
        case 403: return TransferError(.httpStatus, "\(answered) 403: access is denied.", details: details)
        case 404, 410:
            return TransferError(
                .httpStatus, "\(answered) \(status): there is no such file; check the URL.", details: details)
        default:
            let retryable = transientStatuses.contains(status)
            return TransferError(
                .httpStatus, "\(answered) \(text).", retryable: retryable,
                details: details)
        }
    }

    /// The meaning of an unsuccessful answer for the task, including its Retry-After.
    package static func answered(_ head: ResponseHead, now: Timestamp) -> AttemptFailure {
        var failure = stopped(refusal(head, now: now))
        failure.note(head)
        return failure
    }

    /// The same for a judge. Who refuses access for a time says when it may be tried again.
    static func refusal(_ head: ResponseHead, now: Timestamp) -> StopReason {
        var error = httpStatus(head.status ?? 0, reason: head.reason, host: host(of: head.url))
        let pause = retryAfter(head, now: now)
        if head.status == 403, pause != nil { error.retryable = true }
        if let pause, error.retryable {
            error.message += " It asked for a pause of \(Int64(pause.rawValue)) s (Retry-After)."
        }
        return .failure(error, retryAfter: pause)
    }

    /// Measured by the server's own clock if it sent one.
    static func retryAfter(_ head: ResponseHead, now: Timestamp) -> Seconds? {
        let clock = head.values("date").first.flatMap(HTTPDate.parse).map { Timestamp(milliseconds: $0 * 1000) }
        return head.values("retry-after").first.flatMap { RetryAfter.parse($0, now: clock ?? now) }
    }

    private static func stopped(_ reason: StopReason) -> AttemptFailure {
        switch reason {
        case .failure(let error, let retryAfter):
            return AttemptFailure(
                error: error, disposition: error.retryable ? .transient(after: retryAfter) : .permanent)
        case .restart(let error): return AttemptFailure(error: error, disposition: .transient(after: nil))
        case .bareRange, .complete, .redirect:
            return transient(.httpProtocol, "The server's answers contradict each other.")
        }
    }

    private static func proxyRefused(_ status: Int, _ proxy: String?) -> AttemptFailure {
        let error = proxyStatus(status, reason: nil, address: proxy)
        return AttemptFailure(error: error, disposition: error.retryable ? .transient(after: nil) : .permanent)
    }

    static func transient(_ code: ErrorCode, _ message: String) -> AttemptFailure {
        AttemptFailure(
            error: TransferError(code, message, retryable: true), disposition: .transient(after: nil))
    }

    static func permanent(_ code: ErrorCode, _ message: String) -> AttemptFailure {
        AttemptFailure(error: TransferError(code, message, retryable: false), disposition: .permanent)
    }

    /// Name for sentences; "the server" or "the helper for SCHEME" if the URL has none.
    static func host(of url: String) -> String {
        guard let url = try? URLRules.parse(url) else { return "the server" }
        return url.host.isEmpty ? url.scheme == .helper ? "the helper for \(url.schemeName)" : "the server" : url.host
    }
}

extension AttemptFailure {
    /// A 407 to a request that used no proxy is the server's mistake (RFC 9110 section 15.5.8): no credentials help.
    /// The challenge stays, because with `acceptsAnyStatus` such an answer is still the response.
    package mutating func heedProxy(of outcome: ExchangeOutcome) {
        guard error.code == .authRequired, outcome.head?.status == 407, outcome.proxy == nil, !outcome.mayBeOfProxy,
            let url = outcome.head?.url
        else { return }
        error = TransferError(
            .httpStatus,
            "\(FailureClassifier.host(of: url)) answered 407, the status of a proxy, but no proxy was used; check the URL.",
            details: ["status": 407])
    }

    /// Keeps the challenge of a refusal. A 407 from an https server does not count, because a proxy would have sent it
    /// in answer to CONNECT.
    /// - Parameter isOfConnect: the refusal is a proxy's answer to CONNECT.
    fileprivate mutating func note(_ head: ResponseHead?, isOfConnect: Bool = false) {
        guard error.code == .authRequired, let head, ProtectionSpace.isAskedFor(head),
            isOfConnect || head.status != 407 || (try? URLRules.parse(head.url))?.scheme != .https
        else { return }
        challenge = head
    }
}
