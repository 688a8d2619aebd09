import TransferModel

/// Judges the answer to a request for one part of a file of which others are fetched beside it: nothing but a part of
/// the very version may be written, at the very place.
struct SegmentJudge: ResponseJudge, Hashable {
    /// What is known of the version; its offset is where the part begins.
    var held: HeldBytes
    /// The request carried If-Range, so a 200 with the held validator deserves one try without.
    var isConditional: Bool
    var now: Timestamp

    func judge(_ head: ResponseHead) -> Verdict {
        switch HTTPJudge(held: held, mayTryBareRange: isConditional, now: now).judge(head) {
        case .stop(.complete): return changed("no such range")
        case .stop(let reason): return .stop(reason)
        case .accept(let acceptance):
            if acceptance.offset == held.offset, !acceptance.truncate, head.status == 206 { return .accept(acceptance) }
            // All of the version that is held: nothing has changed but what the server offers.
            let isSame =
                held.isConfirmed(by: acceptance.validators) && held.contentCoding == acceptance.contentCoding
                && acceptance.total == held.total
            return isSame ? .stop(.failure(Self.withoutParts, retryAfter: nil)) : changed("another version")
        }
    }

    /// The server has the version, and gives it whole only.
    static let withoutParts = TransferError(
        .httpProtocol, "The server does not send parts of the file after all; it is fetched over one connection.",
        retryable: true)

    private func changed(_ what: String) -> Verdict {
        .stop(
            .restart(
                TransferError(.validatorChanged, "The server now gives \(what); the download restarts from 0.")))
    }
}
