import TransferModel

/// A stream, of which nothing is kept: what the client has of it, and whether it can be resumed. No byte is sent twice,
/// and none from another version.
package struct StreamedBody: Sendable, Hashable {
    /// Bytes that the client has, decoded.
    package var offset: ByteCount
    /// The answer that they come from; nil if none was accepted yet.
    package var acceptance: Acceptance?
    /// The client has all of it, or the rest is here: nothing is requested any more.
    package var isWhole = false

    package init(offset: ByteCount = .zero, acceptance: Acceptance? = nil) {
        self.offset = offset
        self.acceptance = acceptance
    }

    /// Whether the rest can be requested, or there is none. Requires a strong validator: without one, nothing would
    /// tell the version from another.
    var isContinuable: Bool {
        guard let held else { return offset == .zero }
        return held.isComplete || held.strongValidator != nil && held.rangeRequest != nil
    }

    var held: HeldBytes? { acceptance.map { HeldBytes($0, offset: offset, trustedDigest: false) } }

    /// The failure of an attempt after which the rest cannot follow.
    /// - Parameter why: completes a sentence.
    func lost(to failure: AttemptFailure, because why: String) -> AttemptFailure {
        var final = failure.final(
            " The client has \(offset) bytes of the body already, and the rest cannot follow: \(why).")
        final.error.details[Self.delivered] = .integer(offset.rawValue)
        return final
    }

    /// Member of an error's details: bytes of the body that the client has.
    static let delivered = "delivered"
}

/// Judges the answer to a request whose body is streamed to a client: an unwanted body is not read.
struct StreamJudge: ResponseJudge {
    /// Judges the rest of a body; nil if none of it was sent yet.
    var rest: HTTPJudge?
    var isHead = false
    /// The body is wanted without its content codings.
    var decodes = false
    /// The answer to a further request may continue the body.
    var isContinuable = false
    var wanted = ResponseHold(acceptsAnyStatus: false, asksChallenges: .none)
    var now: Timestamp

    func judge(_ head: ResponseHead) -> Verdict {
        if let rest, let held = rest.held { return judge(head, rest, from: held.offset) }
        do throws(TransferError) {
            guard let status = head.status else { throw HTTPJudge.cutHead }
            let length = try head.contentLength()
            guard wanted.applies(to: head) else { return .stop(FailureClassifier.refusal(head, now: now)) }
            if case .unreadable(let error?) = AnswerBody(head, decodes: decodes) { throw error }
            return .accept(acceptance(of: head, status, length))
        } catch {
            return .failure(error)
        }
    }

    /// A body that begins anywhere else is not the rest.
    private func judge(_ head: ResponseHead, _ rest: HTTPJudge, from offset: ByteCount) -> Verdict {
        let verdict = rest.judge(head)
        guard case .accept(let acceptance) = verdict, acceptance.truncate || acceptance.offset != offset else {
            return verdict
        }
        return .restart("The server sent another version of the body instead of the rest.")
    }

    private func acceptance(of head: ResponseHead, _ status: Int, _ length: ByteCount?) -> Acceptance {
        // The length is that of the answer to a GET (RFC 9110 section 8.6).
        let hasNone = isHead || [204, 205, 304].contains(status)
        let isDecoded = AnswerBody(head, decodes: decodes) != .asItCame
        let total = hasNone ? ByteCount.zero : isDecoded ? nil : length
        // Part of a coded body cannot be decoded.
        let validators = isContinuable && status == 200 && !isDecoded ? head.validators : Validators()
        return Acceptance(
            offset: 0, expected: total, total: total, validators: validators, contentCoding: head.contentCoding,
            serverDigests: HTTPJudge.digests(head))
    }
}
