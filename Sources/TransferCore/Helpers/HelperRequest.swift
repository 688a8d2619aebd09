import TransferModel

/// What is to be done about a line of a helper.
package enum HelperEvent: Sendable, Hashable {
    case response(HelperResponse)
    case redirect(String)
    case challenge(realm: String?, AuthenticationMethod)
    case data([UInt8])
    /// Everything before is in the file, as far as the file says so too.
    case wrote(Int64)
    case finished
    /// The request cannot begin where it was asked to.
    case cannotResume
    /// `retryAfter`: not sooner, in seconds.
    case failed(TransferError, retryAfter: Seconds?)
}

/// One request at a helper, as its lines follow each other: pure. Nothing that a helper says of one request touches another.
package struct HelperRequest: Sendable {
    private enum Stage: Sendable { case asked, answered, over }

    private let scheme: String
    private let offset: Int64
    /// The helper writes the file itself.
    private let hasPart: Bool
    private var stage = Stage.asked
    private var written: Int64 = 0

    /// - Parameter offset: where its bytes are to begin.
    package init(scheme: String, offset: Int64, hasPart: Bool) {
        self.scheme = scheme
        self.offset = offset
        self.hasPart = hasPart
    }

    package var isOver: Bool { stage == .over }

    /// Takes one line.
    /// - Parameter fileSize: bytes that descriptor 3 has now.
    /// - Returns: nil if it says nothing new.
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

    /// Codes of the vocabulary that a helper may use: what it says of the place that it asked.
    private static let codesOfHelpers: Set<ErrorCode> = [
        .networkDNS, .networkConnect, .networkLost, .networkTimeout, .tlsUntrusted, .tlsFailed, .httpStatus,
        .httpProtocol, .authRequired, .authFailed, .unsupported,
    ]

    /// What a helper says of a request that failed.
    fileprivate static func helper(
        _ scheme: String, _ code: String, _ message: String, _ isRetryable: Bool
    ) -> TransferError {
        let said = message.isEmpty ? code.isEmpty ? "it does not say why" : code : message
        // What it says of trying again counts, whatever is usual for the code.
        let known = ErrorCode(rawValue: code).flatMap { code in
            codesOfHelpers.contains(code) && (code.mayVary || code.retryable == isRetryable) ? code : nil
        }
        return TransferError(
            known ?? .helperFailed, "The helper for \(scheme) failed: \(said)", retryable: isRetryable,
            details: ["scheme": .string(scheme), "code": .string(code)])
    }
}
