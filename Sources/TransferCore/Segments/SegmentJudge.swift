import TransferModel

/// Judges the answer to a request for one segment while other segments of the file are fetched. Only the requested
/// range of the same version may be written, and only at its offset.
struct SegmentJudge: ResponseJudge, Hashable {
    /// What is known of the version; its offset is where the segment begins.
    var held: HeldBytes
    /// The request carried If-Range, so a 200 with the held validator is worth one try without it.
    var isConditional: Bool
    var resumesUnproven = false
    var now: Timestamp

    func judge(_ head: ResponseHead) -> Verdict {
        let judge = HTTPJudge(
            held: held, mayTryBareRange: isConditional, now: now, resumesUnproven: resumesUnproven)
        switch judge.judge(head) {
        // Parts prove nothing; the bytes of the one answer that is fetched as a whole do.
        case .stop(.restart(HTTPJudge.unproven)): return .failure(Self.withoutParts)
        case .stop(.complete): return changed("no such range")
        case .stop(let reason): return .stop(reason)
        case .accept(let acceptance):
            if acceptance.offset == held.offset, !acceptance.truncate { return .accept(acceptance) }
            // The answer is the whole of the held version: only what the server offers has changed.
            let isSame =
                held.isConfirmed(by: acceptance.validators) && held.contentCoding == acceptance.contentCoding
                && acceptance.total == held.total
            return isSame ? .failure(Self.withoutParts) : changed("another version")
        }
    }

    /// The server has the version, but sends it only as a whole.
    static let withoutParts = TransferError(
        .httpProtocol, "The server does not send parts of the file after all; it is fetched over one connection.",
        retryable: true)

    private func changed(_ what: String) -> Verdict {
        .stop(
            .restart(
                TransferError(.validatorChanged, "The server now gives \(what); the download restarts from 0.")))
    }
}
