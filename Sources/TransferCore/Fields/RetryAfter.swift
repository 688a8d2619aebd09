import TransferModel

/// Retry-After (RFC 9110 section 10.2.3): seconds or a date, limited to 1 s … 24 h.
package enum RetryAfter {
    package static let shortest: Seconds = 1
    package static let longest: Seconds = 86_400

    /// - Parameter now: the server's Date if it sent one, otherwise the wall clock.
    /// - Returns: nil if the text is neither a number nor a date.
    package static func parse(_ text: String, now: Timestamp) -> Seconds? {
        let value = text.trimmed
        if value.isDigits { return Int64(value).map { clamp(Seconds(Double($0))) } ?? longest }
        return HTTPDate.parse(value).map { clamp(Timestamp(milliseconds: $0 * 1000).since(now)) }
    }

    package static func clamp(_ delay: Seconds) -> Seconds { min(max(delay, shortest), longest) }
}
