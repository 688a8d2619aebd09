import TransferModel

/// Redirects and challenges of helpers, handled like those of HTTP servers.
extension Exchange {
    /// Returns the request to the target of a helper's redirect.
    /// - Throws: `request.bad_url`, `http.redirect_limit`, `http.protocol` for a scheme that it may not lead to,
    ///   `policy.plaintext_refused`.
    package func redirectOfHelper(to url: String) throws(TransferError) -> StandingRequest {
        let options = $network.wrappedValue
        guard options.redirectsBefore < options.redirectLimit else {
            throw TransferError(
                .httpRedirectLimit, "The helper redirected more than \(options.redirectLimit) times; check the URL.",
                details: ["url": .string(URLRules.withoutSecrets(self.url))])
        }
        let target: ParsedURL
        do throws(TransferError) {
            target = try URLRules.parse(url)
        } catch {
            throw TransferError(.badURL, "The helper redirects to a URL that cannot be used. \(error.message)")
        }
        switch target.scheme {
        case .http, .https, .helper: break
        case .ftp, .ftps, .sftp, .file, .data:
            throw TransferError(
                .httpProtocol,
                "The helper redirects to a URL of the scheme \(target.scheme.rawValue). A helper may redirect only to "
                    + "http, https or a scheme that has a helper.",
                details: ["url": .string(URLRules.withoutSecrets(url))])
        }
        if $network.refuses(target) { throw .plaintextRefused(to: target) }
        let isForeign = (try? URLRules.parse(self.url))?.hostKey != target.hostKey
        let kept = isForeign ? headers.filter { RequestHeaders.crossesOrigins($0.name) } : headers
        return StandingRequest(
            TaskRequest(url: target.requestURL, method: method, headers: kept), sendsOwnBody: payload != .none,
            isForeign: isForeign, redirects: 1, mayStepBack: RepeatRules.isIdempotent(method ?? "GET"))
    }

    /// The credential that answers a helper's challenge: one from a client or the store for this place, or else the
    /// task's own.
    package var credentialForHelper: (username: String, password: String)? {
        let options = $network.wrappedValue
        if !options.answered.isEmpty, let place = (try? URLRules.parse(url))?.hostKey,
            let known = options.answered.first(where: { $0.origin == place })
        {
            return (known.username, known.password)
        }
        return options.username.map { ($0, options.password ?? "") }
    }
}

extension ResponseHead {
    /// A helper's challenge as a server would send it (RFC 9110 section 11.6.1).
    package static func challenge(of url: String, _ realm: String?, _ method: AuthenticationMethod) -> ResponseHead {
        let scheme = method == .httpDigest ? "Digest" : "Basic"
        let quoted = realm.map { realm in
            String(realm.filter { $0 != "\r\n" && !$0.isNewline }).replacing("\\", with: "\\\\").replacing(
                "\"", with: "\\\"")
        }
        // The helper computes the digest itself. The nonce only completes the challenge.
        let rest = quoted.map { " realm=\"\($0)\"" } ?? ""
        let value = scheme + rest + (method == .httpDigest ? "\(rest.isEmpty ? " " : ", ")nonce=\"\"" : "")
        return ResponseHead(url: url, status: 401, headers: [HeaderField("WWW-Authenticate", value)])
    }
}

extension HelperEvent {
    /// The memory that the event takes while it waits, in bytes.
    package var weight: Int { if case .data(let bytes) = self { bytes.count + 64 } else { 64 } }
}
