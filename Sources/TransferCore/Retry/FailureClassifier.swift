import Glibc
import TransferModel

/// Turns the end of an exchange into a cause, a sentence, and what happens to the task.
package enum FailureClassifier {
    /// HTTP statuses that a later attempt may not get again. An unknown 5xx is a 500 (RFC 9110 section 15). A 511 never
    /// comes from the server itself, but from a network that requires a login (RFC 6585 section 6).
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
            var failure = AttemptFailure.permanent(error)
            failure.redirect = target
            failure.redirectBody = outcome.isBodyTruncated ? nil : outcome.body
            return failure
        case .stopped(let reason): return stopped(reason)
        case .transport(let code, let message):
            if let status = outcome.proxyStatus, status >= 400 {
                var failure = AttemptFailure(proxyStatus(status, reason: nil, address: outcome.proxy))
                failure.note(outcome.connectHead, isOfConnect: true)
                return failure
            }
            var failure = transport(
                code: code, message: message, host: host(of: url), proxy: outcome.proxy, reply: outcome.reply)
            if let challenge = outcome.tls { failure.meet(challenge, of: host(of: url)) }
            return failure
        case .local(let errno, let operation): return local(errno: errno, operation: operation)
        case .stalled:
            let way = outcome.proxy.map { " through the proxy \($0)" } ?? ""
            // An endless header counts as sending something.
            let what = outcome.head == nil ? "did not answer in time" : "sent nothing for too long"
            return .transient(.networkTimeout, "\(host(of: url)) \(what)\(way).")
        case .overrun:
            return .transient(
                .integrityLength, "\(host(of: url)) sent more bytes than it announced; they were dropped.")
        case .refusedRedirect(let error): return .permanent(error)
        case .aborted:
            return .transient(.networkLost, "The daemon interrupted the transfer.")
        case .finished:
            return .transient(.networkLost, "\(host(of: url)) closed the connection before the end.")
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
        let isWanting = status == 401 || status == 407
        let sentence =
            switch status {
            case 401:
                "\(host) wants credentials (401); give a user name and password, a bearer token or a netrc file "
                    + "(task.update), then task.retry."
            case 407:
                "\(proxy) wants credentials (407); put user:password into its URL (task.update, proxy), then task.retry."
            case 202: "\(answered) \(text): not ready yet."
            case 403: "\(answered) 403: access is denied."
            case 404, 410: "\(answered) \(status): there is no such file; check the URL."
            default: "\(answered) \(text)."
            }
        return TransferError(
            isWanting ? .authRequired : .httpStatus, sentence,
            retryable: status == 202 || transientStatuses.contains(status), details: ["status": .integer(Int64(status))]
        )
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
        case .failure(let error, let retryAfter): AttemptFailure(error, retryAfter: retryAfter)
        case .restart(let error): .transient(error)
        case .bareRange, .complete, .redirect:
            .transient(.httpProtocol, "The server's answers contradict each other.")
        }
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

    /// A challenge that a client may be asked about ended the handshake.
    mutating func meet(_ challenge: TLSChallenge, of host: String) {
        tls = challenge
        guard case .certificate = challenge.wish else { return }
        error = TransferError(
            .authRequired,
            "\(host) wants a certificate; give one with the task (clientCertificate), or with its session (session.open).",
            details: error.details)
        disposition = .permanent
    }
}

// MARK: - libcurl's errors

/// The meaning of each libcurl error for a task (libcurl-errors(3)).
extension FailureClassifier {
    /// libcurl's errors that mean an unexpected reply of an FTP server. For a 421, which closes the session, it is 28: "timed
    /// out".
    private static let replied: Set<Int> = [8, 9, 10, 11, 13, 14, 17, 19, 21, 25, 30, 31, 67, 70, 78]
    /// How FTP servers say that they have no session left, which is often a 530, as for a wrong password.
    private static let crowded = ["too many", "maximum", "connections", "users", "try again"]
    /// Words that only a refusal of the user has.
    private static let personal = ["incorrect", "password", "anonymous", "registered"]
    /// A crowded FTP server names no time, but one of its sessions may end soon.
    private static let pauseIfCrowded: Seconds = 5

    /// - Parameters:
    ///   - proxy: host and port of the proxy in between, if there is one.
    ///   - reply: the last one of an FTP server.
    static func transport(
        code: Int, message: String, host: String, proxy: String? = nil, reply: String? = nil
    ) -> AttemptFailure {
        let reply = replied.contains(code) || code == 28 && reply?.hasPrefix("421") == true ? reply : nil
        var failure = reply.flatMap { refused($0, code, host) } ?? meaning(code, message, host, proxy)
        if let reply {
            failure.error.message += " It said: \(reply)"
            failure.error.details["reply"] = .string(reply)
        }
        failure.error.details["curl"] = .integer(Int64(code))
        if !message.isEmpty { failure.error.details["reason"] = .string(message) }
        if let proxy { failure.error.details["proxy"] = .string(proxy) }
        return failure
    }

    /// The server's words decide, whichever error libcurl makes of them; nil if they say no more than that. The first
    /// digit says whether it may work later (RFC 959 section 4.2), and so does 120 (ready in some minutes).
    private static func refused(_ reply: String, _ code: Int, _ host: String) -> AttemptFailure? {
        let (status, text) = (reply.prefix(3), reply.lowercased())
        let isCrowded = crowded.contains(where: text.contains) && !personal.contains(where: text.contains)
        if status == "421" || status == "530" && isCrowded {
            let error = TransferError(.httpStatus, "\(host) accepts no more sessions now.", retryable: true)
            return AttemptFailure(error, retryAfter: pauseIfCrowded)
        }
        if code != 67, code != 70, status == "120" || status.first == "4" {
            return .transient(.networkLost, "\(host) does not serve the file now.")
        }
        guard code == 9, status != "530" else { return nil }
        return .permanent(.httpStatus, "\(host) has no such folder, or does not open it; check the URL.")
    }

    /// One row for each error; of two for the same, the first that applies.
    private static func meaning(_ code: Int, _ message: String, _ host: String, _ proxy: String?) -> AttemptFailure {
        let named = "The proxy" + (proxy.map { " \($0)" } ?? "")
        let asked = proxy.map { "\(host), asked through the proxy \($0)," } ?? host
        return switch code {
        // Name, route, proxy, connection.
        case 5:
            .transient(.networkDNS, "\(named) has a name that does not resolve; correct its URL (task.update, proxy).")
        case 6: .transient(.networkDNS, "The name \(host) does not resolve; check the URL.")
        case 7, 96: connectRefused(message, proxy == nil ? host : named, isProxy: proxy != nil)
        case 28 where proxy != nil && message.contains("onnect"):
            .transient(
                .networkTimeout, "\(named) does not answer; check that it runs, or name another (task.update, proxy).")
        case 56 where message.contains("CONNECT"):
            .transient(.networkConnect, "\(named) gave no connection to \(host): \(message)")
        case 2, 45: .transient(.networkConnect, "No connection to \(host) could be set up: \(message)")
        case 97 where ["rejected", "auth"].contains(where: message.lowercased().contains):
            .permanent(
                .authRequired,
                "\(named) wants other credentials; put user:password into its URL (task.update, proxy), then task.retry."
            )
        case 97: .transient(.networkConnect, "\(named) could not connect to \(host): \(message)")
        // TLS and host keys.
        case 35: .transient(.tlsFailed, "The encrypted connection to \(host) failed: \(message)")
        case 90:
            .permanent(
                .tlsUntrusted,
                "\(host) shows another key than the one that was trusted: it was replaced, or somebody else answers in "
                    + "its place. Ask its operator; then task.retry.")
        case 51, 60, 83, 91: untrusted(message, host: host)
        case 77, 82: .permanent(.tlsUntrusted, "The caFile cannot be used (\(message)); check its path.")
        case 58, 98: .permanent(.tlsFailed, "The client certificate cannot be used (\(message)); check it.")
        case 53, 54, 59, 64, 66:
            .permanent(.tlsFailed, "No encryption that both sides accept (\(message)); see tlsMinimumVersion.")
        // After the connection was made.
        case 1 where message.contains("HTTP"), 56 where message.contains("Too large response headers"):
            .permanent(.httpProtocol, "\(host) breaks the protocol: \(message)")
        case 56 where message.contains("chunk"):
            .transient(.networkLost, "\(asked) sent a body whose chunked coding is broken (\(message)).")
        case 16, 18, 52, 55, 56, 79, 80, 92, 95: .transient(.networkLost, "The connection to \(asked) broke.")
        case 12, 28, 42: .transient(.networkTimeout, "\(asked) was silent for too long.")
        case 47: .permanent(.httpRedirectLimit, "\(host) redirects too often; check the URL.")
        case 1, 3: .permanent(.badURL, "The URL cannot be used: \(message)")
        case 4: .permanent(.unsupported, "This libcurl cannot do it: \(message)")
        case 9, 67:
            .permanent(
                .authRequired,
                "\(host) denies access; task.update takes another username and password, task.retry tries them.")
        case 94: .permanent(.authFailed, "The credentials could not be used: \(message)")
        case 19, 78: .permanent(.httpStatus, "\(host) has no such file, or does not send it; check the URL.")
        case 70: .transient(.httpStatus, "\(host) has no room for the file.")
        case 25:
            .permanent(
                .permissionDenied, "\(host) does not accept the file (\(message)); check the path and the rights there."
            )
        case 37: .permanent(.sourceUnreadable, "The file cannot be read: \(message)")
        case 8, 61, 84...89: .permanent(.httpProtocol, "\(host) breaks the protocol: \(message)")
        // For a longer line, libcurl says "out of memory" before 8.6, and "too large" since.
        case 27, 100:
            .permanent(.httpProtocol, "\(host) sends a line that is longer than libcurl accepts (100 KiB).")
        case 23, 26: .transient(.internal, "The transfer could not continue: \(message)")
        default: .permanent(.httpProtocol, "The transfer failed: \(message) (libcurl \(code)).")
        }
    }

    /// Whether the time ran out before there was a connection: libcurl uses one code for this and for a silent server.
    static func isConnecting(_ error: TransferError) -> Bool {
        guard error.code == .networkTimeout, error.details["curl"] == 28,
            let reason = error.details["reason"]?.stringValue
        else { return false }
        return ["onnect", "Resolving"].contains { reason.contains($0) }
    }

    /// Whether what answered does not speak TLS. OpenSSL says so in these words of the first bytes that are no TLS record.
    package static func isWithoutTLS(_ error: TransferError) -> Bool {
        error.code == .tlsFailed && error.details["reason"]?.stringValue?.contains("wrong version number") == true
    }

    private static func connectRefused(_ message: String, _ name: String, isProxy: Bool) -> AttemptFailure {
        if ["unreachable", "no route", "network is down"].contains(where: message.lowercased().contains) {
            let error = TransferError(.networkConnect, "\(name) cannot be reached from here; waiting for the network.")
            return AttemptFailure(error: error, disposition: .network)
        }
        let advice = isProxy ? "; check that it runs, or name another (task.update, proxy)" : ""
        return .transient(.networkConnect, "\(name) does not accept connections\(advice).")
    }
}

// MARK: - Certificates

/// Says what is wrong with a certificate or host key that libcurl does not trust, and who can fix it.
///
/// libcurl passes on the verifier's message (X509_verify_cert_error_string(3)). Its wording differs between versions of
/// OpenSSL and GnuTLS in hyphens and in the surrounding words.
extension FailureClassifier {
    static func untrusted(_ message: String, host: String) -> AttemptFailure {
        let words = String(unquoted(message.lowercased(), host.lowercased()).map { $0 == "-" ? " " : $0 })
        let fault = CertificateFault.allCases.first { fault in fault.marks.contains { words.contains($0) } }
        var failure = AttemptFailure.permanent(
            .tlsUntrusted,
            fault?.sentence(host)
                ?? "The certificate or host key of \(host) is not trusted (\(message)); name the one to trust "
                + "(task.update, caFile), then task.retry.")
        if let fault { failure.error.details[CertificateFault.member] = .string(fault.rawValue) }
        return failure
    }

    /// The message without the host and without quoted text, because names may contain any word.
    private static func unquoted(_ message: String, _ host: String) -> String {
        let words = message.split(separator: " ").filter { word in
            let word = word.drop { !$0.isLetter && !$0.isNumber }
            guard word.hasPrefix(host) else { return true }
            return word.dropFirst(host.count).first.map { $0.isLetter || $0.isNumber || $0 == "-" } ?? false
        }
        var kept = ""
        var mark: Character?
        for character in words.joined(separator: " ") {
            if mark != nil {
                if character == mark { mark = nil }
            } else if character == "\"" || character == "'" && !(kept.last?.isLetter ?? false) {
                mark = character
                kept.append(" ")
            } else {
                kept.append(character)
            }
        }
        return kept
    }
}

extension CertificateFault {
    /// Parts of the verifier's messages; the first fault with a part that occurs is the one.
    fileprivate var marks: [String] {
        switch self {
        case .notYetValid: ["not yet valid", "not activated"]
        case .expired: ["expired"]
        case .revoked: ["revoked"]
        case .wrongName: ["subject name", "does not match", "hostname mismatch", "ip address mismatch"]
        case .selfSigned: ["self signed"]
        case .unknownIssuer: ["local issuer", "issuer certificate", "unable to verify the first", "unknown ca"]
        case .weak: ["too weak", "too small"]
        }
    }

    fileprivate func sentence(_ host: String) -> String {
        switch self {
        case .notYetValid:
            "The certificate of \(host) is not valid yet. If the clock of this machine is wrong, set it; otherwise ask the "
                + "server's operator. Then task.retry."
        case .expired:
            "The certificate of \(host) has expired. If the clock of this machine is wrong, set it; otherwise the server's "
                + "operator must renew the certificate. Then task.retry."
        case .revoked:
            "The certificate of \(host) was revoked: its key may be in the wrong hands. Only the server's operator can "
                + "replace it."
        case .wrongName:
            "The server's certificate does not name \(host). Check the name in the URL; if it is right, the server's operator "
                + "must change the certificate."
        case .selfSigned:
            "The certificate of \(host) is self-signed. If you trust the server, name the certificate (task.update, caFile), "
                + "then task.retry."
        case .unknownIssuer:
            "The certificate of \(host) was issued by an authority that this machine does not trust, or the server does not send "
                + "its intermediate certificates. Name the issuer's certificate (task.update, caFile), then task.retry, or ask "
                + "the server's operator."
        case .weak:
            "The certificate of \(host) has a key or signature that is too weak to be trusted; the server's operator must "
                + "replace it."
        }
    }
}

// MARK: - Local files

/// The meaning of a failed system call on a local file for a task (errno(3)).
extension FailureClassifier {
    /// - Parameter operation: what failed, such as `write the part file`. If it names the `source`, the failure
    ///   concerns the file that is read, not the one that is written.
    static func local(errno code: Int32, operation: String) -> AttemptFailure {
        var failure = operation.contains("source") ? reading(code) : writing(code, operation)
        failure.error.details[errnoMember] = .integer(Int64(code))
        failure.error.details[operationMember] = .string(operation)
        return failure
    }

    private static let errnoMember = "errno"
    private static let operationMember = "operation"

    /// The sentence of an error if the destination exists and has room: it must not claim otherwise.
    static func withReadyDisk(_ error: TransferError) -> String {
        guard let operation = error.details[operationMember]?.stringValue,
            let code = error.details[errnoMember]?.integerValue.flatMap({ Int32(exactly: $0) })
        else { return error.message }
        return "The destination folder is there and has room, but its file system refuses the file "
            + "(\(operation): \(text(of: code)))."
    }

    private static func writing(_ code: Int32, _ operation: String) -> AttemptFailure {
        switch code {
        case EINVAL where operation == "open", ENAMETOOLONG, EILSEQ:
            .permanent(
                .destinationBadPath,
                "The destination's file system accepts no file with this name; choose another destination (task.update), "
                    + "then task.retry.")
        case ENOSPC: disk(.diskFull, "No space is left in the destination folder; it continues when there is.")
        case EDQUOT:
            disk(.diskQuota, "The disk quota of the destination is used up; it continues when there is room.")
        case EACCES, EPERM:
            .permanent(
                .destinationNotWritable,
                "The destination folder cannot be written; change its rights, or the destination (task.update), "
                    + "then task.retry.")
        case EFBIG where operation == "fallocate": tooLarge(FileSizeLimit.announced())
        case EFBIG:
            tooLarge(FileSizeLimit.sentence(otherwise: "choose another destination (task.update), then task.retry."))
        case EROFS: disk(.diskIO, "The destination is mounted read-only; it continues when it is writable.")
        case ENOENT, ENOTDIR, ENODEV, ENXIO, ESTALE:
            disk(.diskIO, "The destination folder is gone (unmounted?); it continues when it is back.")
        default: disk(.diskIO, "The disk failed: \(text(of: code)).")
        }
    }

    /// Other permissions would not help, so clients are told.
    private static func tooLarge(_ sentence: String) -> AttemptFailure {
        .permanent(TransferError(.destinationNotWritable, sentence, details: [TransferError.tooLargeMember: true]))
    }

    private static func reading(_ code: Int32) -> AttemptFailure {
        let sentence = "The source file cannot be read: \(text(of: code))"
        return [EIO, ESTALE, EMFILE, ENFILE, ENOMEM].contains(code)
            ? .transient(.sourceUnreadable, "\(sentence).")
            : .permanent(.sourceUnreadable, "\(sentence); correct it, then task.retry.")
    }

    private static func disk(_ code: ErrorCode, _ message: String) -> AttemptFailure {
        AttemptFailure(error: TransferError(code, message), disposition: .disk)
    }

    private static func text(of code: Int32) -> String {
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}
