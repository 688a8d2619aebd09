import TransferModel

/// The meaning of each libcurl error for a task (libcurl-errors(3)).
package enum TransportFailures {
    /// libcurl's errors that mean an unexpected reply of an FTP server. For a 421, which closes the session, it is 28: "timed
    /// out".
    private static let replied: Set<Int> = [8, 9, 10, 11, 13, 14, 17, 19, 21, 25, 30, 31, 67, 70, 78]
    /// How FTP servers say that they have no session left, which is often a 530, as for a wrong password.
    private static let crowded = ["too many", "maximum", "connections", "users", "try again"]
    /// What a refusal of the user says, whatever else it says.
    private static let personal = ["incorrect", "password", "anonymous", "registered"]
    /// A crowded FTP server names no time, but one of its sessions may end soon.
    private static let pauseIfCrowded: Seconds = 5

    /// - Parameters:
    ///   - proxy: host and port of the proxy in between, if there is one.
    ///   - reply: the last one of an FTP server.
    static func classify(
        code: Int, message: String, host: String, proxy: String? = nil, reply: String? = nil
    ) -> AttemptFailure {
        let reply = replied.contains(code) || code == 28 && reply?.hasPrefix("421") == true ? reply : nil
        var failure =
            reply.flatMap { refused($0, code, host) } ?? known(code, message, host, proxy)
            ?? other(code, message)
        if let reply {
            failure.error.message += " It said: \(reply)"
            failure.error.details["reply"] = .string(reply)
        }
        return failure.withDetails(code: code, message: message, proxy: proxy)
    }

    /// The server's words decide, whichever error libcurl makes of them; nil if they say no more than that. The first
    /// digit says whether it may work later (RFC 959 section 4.2), and so does 120 (ready in some minutes).
    private static func refused(_ reply: String, _ code: Int, _ host: String) -> AttemptFailure? {
        let (status, text) = (reply.prefix(3), reply.lowercased())
        let isCrowded = crowded.contains(where: text.contains) && !personal.contains(where: text.contains)
        if status == "421" || status == "530" && isCrowded {
            return AttemptFailure(
                error: TransferError(.httpStatus, "\(host) accepts no more sessions now.", retryable: true),
                disposition: .transient(after: pauseIfCrowded))
        }
        if code != 67, code != 70, status == "120" || status.first == "4" {
            return FailureClassifier.transient(.networkLost, "\(host) does not serve the file now.")
        }
        if code == 9, status != "530" {
            return FailureClassifier.permanent(
                .httpStatus, "\(host) has no such folder, or does not open it; check the URL.")
        }
        return nil
    }

    private static func known(_ code: Int, _ message: String, _ host: String, _ proxy: String?) -> AttemptFailure? {
        if let failure = connecting(code, message, host, proxy) { return failure }
        if let failure = secure(code, message, host) { return failure }
        return talking(code, message, proxy == nil ? host : "\(host), asked through the proxy \(proxy ?? ""),", host)
    }

    /// Name, route, proxy, connection.
    private static func connecting(
        _ code: Int, _ message: String, _ host: String, _ proxy: String?
    ) -> AttemptFailure? {
        let named = "The proxy" + (proxy.map { " \($0)" } ?? "")
        return switch code {
        case 5:
            FailureClassifier.transient(
                .networkDNS, "\(named) has a name that does not resolve; correct its URL (task.update, proxy).")
        case 6: FailureClassifier.transient(.networkDNS, "The name \(host) does not resolve; check the URL.")
        case 7, 96: connectRefused(message, proxy == nil ? host : named, isProxy: proxy != nil)
        case 28 where proxy != nil && message.contains("onnect"):
            FailureClassifier.transient(
                .networkTimeout, "\(named) does not answer; check that it runs, or name another (task.update, proxy).")
        case 56 where message.contains("CONNECT"):
            FailureClassifier.transient(.networkConnect, "\(named) gave no connection to \(host): \(message)")
        case 2, 45: FailureClassifier.transient(.networkConnect, "No connection to \(host) could be set up: \(message)")
        case 97: proxyFailed(message, named, host)
        default: nil
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
        let text = message.lowercased()
        if text.contains("unreachable") || text.contains("no route") || text.contains("network is down") {
            return AttemptFailure(
                error: TransferError(.networkConnect, "\(name) cannot be reached from here; waiting for the network."),
                disposition: .network)
        }
        let advice = isProxy ? "; check that it runs, or name another (task.update, proxy)" : ""
        return FailureClassifier.transient(.networkConnect, "\(name) does not accept connections\(advice).")
    }

    private static func proxyFailed(_ message: String, _ name: String, _ host: String) -> AttemptFailure {
        let text = message.lowercased()
        if text.contains("rejected") || text.contains("auth") {
            return FailureClassifier.permanent(
                .authRequired,
                "\(name) wants other credentials; put user:password into its URL (task.update, proxy), then task.retry."
            )
        }
        return FailureClassifier.transient(.networkConnect, "\(name) could not connect to \(host): \(message)")
    }

    /// TLS and host keys.
    private static func secure(_ code: Int, _ message: String, _ host: String) -> AttemptFailure? {
        switch code {
        case 35: FailureClassifier.transient(.tlsFailed, "The encrypted connection to \(host) failed: \(message)")
        case 90:
            FailureClassifier.permanent(
                .tlsUntrusted,
                "\(host) shows another key than the one that was trusted: it was replaced, or somebody else answers in "
                    + "its place. Ask its operator; then task.retry.")
        case 51, 60, 83, 91: CertificateFailures.classify(message, host: host)
        case 77, 82:
            FailureClassifier.permanent(.tlsUntrusted, "The caFile cannot be used (\(message)); check its path.")
        case 58, 98:
            FailureClassifier.permanent(.tlsFailed, "The client certificate cannot be used (\(message)); check it.")
        case 53, 54, 59, 64, 66:
            FailureClassifier.permanent(
                .tlsFailed, "No encryption that both sides accept (\(message)); see tlsMinimumVersion.")
        default: nil
        }
    }

    /// Errors after the connection was made.
    /// - Parameter asked: the host, and the route to it.
    private static func talking(_ code: Int, _ message: String, _ asked: String, _ host: String) -> AttemptFailure? {
        switch code {
        case 1 where message.contains("HTTP"), 56 where message.contains("Too large response headers"):
            FailureClassifier.permanent(.httpProtocol, "\(host) breaks the protocol: \(message)")
        case 56 where message.contains("chunk"):
            FailureClassifier.transient(
                .networkLost, "\(asked) sent a body whose chunked coding is broken (\(message)).")
        case 16, 18, 52, 55, 56, 79, 80, 92, 95:
            FailureClassifier.transient(.networkLost, "The connection to \(asked) broke.")
        case 12, 28, 42: FailureClassifier.transient(.networkTimeout, "\(asked) was silent for too long.")
        case 47: FailureClassifier.permanent(.httpRedirectLimit, "\(host) redirects too often; check the URL.")
        case 1, 3: FailureClassifier.permanent(.badURL, "The URL cannot be used: \(message)")
        case 4: FailureClassifier.permanent(.unsupported, "This libcurl cannot do it: \(message)")
        case 9, 67:
            FailureClassifier.permanent(
                .authRequired,
                "\(host) denies access; task.update takes another username and password, task.retry tries them.")
        case 94: FailureClassifier.permanent(.authFailed, "The credentials could not be used: \(message)")
        case 19, 78:
            FailureClassifier.permanent(.httpStatus, "\(host) has no such file, or does not send it; check the URL.")
        case 25, 70: storeRefused(code, message, host)
        case 37: FailureClassifier.permanent(.sourceUnreadable, "The file cannot be read: \(message)")
        case 8, 61, 84...89: FailureClassifier.permanent(.httpProtocol, "\(host) breaks the protocol: \(message)")
        // For a longer line, libcurl says "out of memory" before 8.6, and "too large" since.
        case 27, 100:
            FailureClassifier.permanent(
                .httpProtocol, "\(host) sends a line that is longer than libcurl accepts (100 KiB).")
        case 23, 26: FailureClassifier.transient(.internal, "The transfer could not continue: \(message)")
        default: nil
        }
    }

    private static func storeRefused(_ code: Int, _ message: String, _ host: String) -> AttemptFailure {
        if code == 70 {
            return FailureClassifier.transient(.httpStatus, "\(host) has no room for the file.")
        }
        return FailureClassifier.permanent(
            .permissionDenied, "\(host) does not accept the file (\(message)); check the path and the rights there.")
    }

    private static func other(_ code: Int, _ message: String) -> AttemptFailure {
        FailureClassifier.permanent(.httpProtocol, "The transfer failed: \(message) (libcurl \(code)).")
    }
}

extension AttemptFailure {
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

    fileprivate func withDetails(code: Int, message: String, proxy: String?) -> AttemptFailure {
        var copy = self
        copy.error.details["curl"] = .integer(Int64(code))
        if !message.isEmpty { copy.error.details["reason"] = .string(message) }
        if let proxy { copy.error.details["proxy"] = .string(proxy) }
        return copy
    }
}
