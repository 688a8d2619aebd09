import TransferModel

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
