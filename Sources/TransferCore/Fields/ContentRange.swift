import TransferModel

/// Content-Range of RFC 9110 section 14.4, for bytes.
package enum ContentRange: Sendable, Hashable {
    /// `bytes first-last/total`; total is nil if the server wrote `*`.
    case range(first: ByteCount, last: ByteCount, total: ByteCount?)
    /// `bytes */total`
    case unsatisfied(total: ByteCount)

    /// nil if the text is not a valid range of bytes.
    package init?(_ text: String) {
        let fields = text.trimmed.split(separator: " ", maxSplits: 1)
        guard fields.count == 2, fields[0].lowercased() == "bytes" else { return nil }
        let halves = fields[1].trimmed.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let total = Self.number(halves[1])
        guard total != nil || halves[1] == "*" else { return nil }
        if halves[0] == "*" {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last
        else { return nil }
        if let total, last >= total { return nil }
        self = .range(first: first, last: last, total: total)
    }

    /// Digits only; nil also beyond 63 bits.
    static func number(_ text: some StringProtocol) -> ByteCount? {
        text.isDigits ? Int64(text).map { ByteCount($0) } : nil
    }
}
