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
        case .stop(.complete): return .changed("no such range")
        case .stop(let reason): return .stop(reason)
        case .accept(let acceptance):
            if acceptance.offset == held.offset, !acceptance.truncate { return .accept(acceptance) }
            // The answer is the whole of the held version: only what the server offers has changed.
            let isSame =
                held.isConfirmed(by: acceptance.validators) && held.contentCoding == acceptance.contentCoding
                && acceptance.total == held.total
            return isSame ? .failure(Self.withoutParts) : .changed("another version")
        }
    }

    /// The server has the version, but sends it only as a whole.
    static let withoutParts = TransferError(
        .httpProtocol, "The server does not send parts of the file after all; it is fetched over one connection.",
        retryable: true)
}

/// Judges the first answer of a further mirror that is asked for a segment. It must have a version of the same length,
/// with a strong validator that binds all its segments, and no digest that contradicts the known one.
struct MirrorJudge: ResponseJudge, Hashable {
    var offset: ByteCount
    var total: ByteCount
    /// Known digests of the whole file, by algorithm, in hexadecimal.
    var digests: [String: String]
    var now: Timestamp

    func judge(_ head: ResponseHead) -> Verdict {
        let wanted = Acceptance(offset: offset, total: total, serverDigests: digests)
        let held = HeldBytes(wanted, offset: offset, trustedDigest: true)
        switch HTTPJudge(held: held, mayTryBareRange: false, now: now).judge(head) {
        case .stop(.failure(let error, let retryAfter)): return .stop(.failure(error, retryAfter: retryAfter))
        case .stop: return unfit("has no such part of the same file")
        case .accept(let acceptance):
            guard head.status == 206, !acceptance.truncate else { return unfit("gives no parts") }
            guard let field = head.values("content-range").first, case .range(_, _, let told?) = ContentRange(field),
                told == total
            else { return unfit("does not say the file's length") }
            let version = HeldBytes(acceptance, offset: offset, trustedDigest: true)
            guard version.strongValidator != nil else { return unfit("has no strong validator") }
            return .accept(acceptance)
        }
    }

    private func unfit(_ what: String) -> Verdict {
        .stop(.failure(TransferError(.httpProtocol, "The mirror \(what); it is not used."), retryAfter: nil))
    }
}
