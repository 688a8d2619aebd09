import TransferModel

/// The effect of a helper's line on its transfer.
package enum HelperEvent: Sendable, Hashable {
    case response(HelperResponse)
    case redirect(String)
    case challenge(realm: String?, AuthenticationMethod)
    case data([UInt8])
    /// All bytes before this offset are in the file. The file's real length limits the offset.
    case wrote(Int64)
    case finished
    /// The helper cannot begin at the requested offset.
    case cannotResume
    /// `retryAfter`: the shortest delay before another attempt, in seconds.
    case failed(TransferError, retryAfter: Seconds?)
}

/// The state of one request to a helper, which the helper's lines about that request change. It is pure.
package struct HelperRequest: Sendable {
    private enum Stage: Sendable { case asked, answered, over }

    private let scheme: String
    private let offset: Int64
    /// The helper writes the file itself.
    private let hasPart: Bool
    private var stage = Stage.asked
    private var written: Int64 = 0

    /// - Parameter offset: the offset at which the helper should begin.
    package init(scheme: String, offset: Int64, hasPart: Bool) {
        self.scheme = scheme
        self.offset = offset
        self.hasPart = hasPart
    }

    package var isOver: Bool { stage == .over }

    /// Takes one line.
    /// - Parameter fileSize: returns the current length in bytes of the file at descriptor 3.
    /// - Returns: nil if the line says nothing new.
    package mutating func take(_ content: HelperMessage.Content, fileSize: () -> Int64) -> HelperEvent? {
        guard stage != .over else { return nil }
        do throws(HelperViolation) {
            return try event(of: content, fileSize)
        } catch {
            stage = .over
            return .failed(.helperProtocol(scheme, error), retryAfter: nil)
        }
    }

    private mutating func event(
        of content: HelperMessage.Content, _ fileSize: () -> Int64
    ) throws(HelperViolation) -> HelperEvent? {
        switch (content, stage) {
        case (.failed(let code, let message, let isRetryable), _):
            stage = .over
            return .failed(.helper(scheme, code, message, isRetryable), retryAfter: nil)
        case (.response(let response), .asked):
            guard response.offset == 0 || response.offset == offset else {
                throw HelperViolation("response with the offset \(response.offset) in place of \(offset)")
            }
            if let length = response.length, length < 0 { throw HelperViolation("response with a negative length") }
            stage = .answered
            written = response.offset
            return .response(response)
        case (.redirect(let url), .asked):
            stage = .over
            return .redirect(url)
        case (.challenge(let realm, let method), .asked): return .challenge(realm: realm, method)
        case (.data(let bytes), .answered): return bytes.isEmpty ? nil : .data(bytes)
        case (.wrote(let offset), .answered):
            guard hasPart else { throw HelperViolation("wrote, although it has no descriptor 3") }
            let believed = min(offset, fileSize())
            guard believed > written else { return nil }
            written = believed
            return .wrote(believed)
        case (.finished, .answered):
            stage = .over
            return .finished
        case (.data, .asked), (.wrote, .asked), (.finished, .asked):
            throw HelperViolation("a body before its response")
        case (.response, _), (.redirect, _), (.challenge, _): throw HelperViolation("a second answer to one request")
        case (.data, .over), (.wrote, .over), (.finished, .over): return nil
        }
    }
}

extension TransferError {
    /// The helper broke its protocol.
    package static func helperProtocol(
        _ scheme: String, _ violation: HelperViolation, retryable: Bool = false
    ) -> TransferError {
        TransferError(
            .helperProtocol, "The helper for \(scheme) sent \(violation.reason); report it to the helper's author.",
            retryable: retryable, details: ["scheme": .string(scheme)])
    }

    /// The helper itself ended, or could not be started.
    package static func helperFailed(_ scheme: String, _ what: String, retryable: Bool) -> TransferError {
        TransferError(
            .helperFailed, "The helper for \(scheme) \(what)", retryable: retryable,
            details: ["scheme": .string(scheme)])
    }

    /// The codes that a helper may use. They describe failures of the server that it asked.
    private static let codesOfHelpers: Set<ErrorCode> = [
        .networkDNS, .networkConnect, .networkLost, .networkTimeout, .tlsUntrusted, .tlsFailed, .httpStatus,
        .httpProtocol, .authRequired, .authFailed, .unsupported,
    ]

    /// The error for a helper's `failed` line.
    fileprivate static func helper(
        _ scheme: String, _ code: String, _ message: String, _ isRetryable: Bool
    ) -> TransferError {
        let said = message.isEmpty ? code.isEmpty ? "it does not say why" : code : message
        // The helper decides whether another attempt may help, even if that is unusual for the code.
        let known = ErrorCode(rawValue: code).flatMap { code in
            codesOfHelpers.contains(code) && (code.mayVary || code.retryable == isRetryable) ? code : nil
        }
        return TransferError(
            known ?? .helperFailed, "The helper for \(scheme) failed: \(said)", retryable: isRetryable,
            details: ["scheme": .string(scheme), "code": .string(code)])
    }
}

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
