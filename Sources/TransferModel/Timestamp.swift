import FoundationEssentials

/// A point on the wall clock, in milliseconds since 1970-01-01T00:00:00Z; RFC 3339 UTC on the wire.
public struct Timestamp: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(milliseconds: Int64) { rawValue = milliseconds }

    /// Parses RFC 3339 with or without a fraction; nil where the text is neither.
    public init?(_ text: String) {
        let plain = Date.ISO8601FormatStyle()
        guard
            let date = (try? plain.parse(text))
                ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
        else { return nil }
        rawValue = Int64((date.timeIntervalSince1970 * 1000).rounded())
    }

    /// The wall clock now. Only adapters and programs ask; decisions are handed a time.
    public static func now() -> Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    public func advanced(by interval: Seconds) -> Timestamp {
        Timestamp(milliseconds: rawValue + interval.milliseconds)
    }

    /// Wall time from `earlier` to this one, negative where the clock went back.
    public func since(_ earlier: Timestamp) -> Seconds { Seconds(Double(rawValue - earlier.rawValue) / 1000) }

    public var description: String {
        // The style cuts off what is below a millisecond, and a binary fraction may lie just below one.
        Date(timeIntervalSince1970: (Double(rawValue) + 0.5) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "\"\(text)\" is not an RFC 3339 time such as 2026-01-31T08:00:00Z"
            )
        }
        self = value
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
