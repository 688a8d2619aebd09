import TransferCore
import TransferModel

/// Retry-After and the dates of HTTP: a delay is between a second and a day, and a written date is read back.
struct RetryAfterProbe: Probe {
    var parse: @Sendable (String, Timestamp) -> Seconds?

    static let target = FuzzTarget(
        "retry-after",
        words: [
            "120", "99999999999999999999", "-1", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994", "Feb", "29", "9999", "0000", "UTC", "23:59:60", ":", ",", "\t",
        ],
        RetryAfterProbe { RetryAfter.parse($0, now: $1) },
        // Dates long ago are not clamped.
        planted: RetryAfterProbe { text, now in
            HTTPDate.parse(text).map { Timestamp(milliseconds: $0 * 1000).since(now) }
                ?? RetryAfter.parse(text, now: now)
        })

    func check(_ input: [UInt8]) throws {
        let text = fieldValue(input)
        for now in [Timestamp(milliseconds: 0), Timestamp(milliseconds: 1_800_000_000_000)] {
            guard let delay = parse(text, now) else { continue }
            try hold(delay >= 1 && delay <= 86_400, "a delay of \(delay)")
        }
        guard let date = HTTPDate.parse(text) else { return }
        let written = HTTPDate.format(date)
        try hold(written.utf8.count == 29, "\(written) is no IMF-fixdate")
        try hold(HTTPDate.parse(written) == date, "\(shown(text)) is \(date), \(written) is not")
    }
}
