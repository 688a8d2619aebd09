import FoundationEssentials

/// A point on the wall clock, in milliseconds since 1970-01-01T00:00:00Z; RFC 3339 UTC on the wire.
public struct Timestamp: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(milliseconds: Int64) { rawValue = milliseconds }

    /// Parses RFC 3339 with or without a fraction; nil if the text is neither, or names a day or an hour that does not
    /// exist.
    public init?(_ text: String) {
        if let plain = PlainTime.parse(text) {
            rawValue = plain
            return
        }
        // The format style would turn February 30th into March 2nd.
        guard Self.isOnTheCalendar(text.utf8.prefix(13)) else { return nil }
        let plain = Date.ISO8601FormatStyle()
        guard
            let date = (try? plain.parse(text))
                ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
        else { return nil }
        // An offset, a leap second or rounding may lead outside the years that can be written.
        let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded())
        guard Self.written.contains(milliseconds) else { return nil }
        rawValue = milliseconds
    }

    /// The years 1 to 9999, which RFC 3339 has digits for (section 5.6). The formatter uses the Julian calendar before
    /// 1582.
    private static let written: ClosedRange<Int64> = -62_135_769_600_000...253_402_300_799_999

    /// Whether `yyyy-mm-ddThh` is well-formed and names a day and an hour that exist.
    private static func isOnTheCalendar(_ text: Substring.UTF8View) -> Bool {
        let parts = text.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "T") }
        let numbers = parts.compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        guard parts.map(\.count) == [4, 2, 2, 2], numbers.count == 4, (1...12).contains(numbers[1])
        else { return false }
        let year = numbers[0]
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][numbers[1] - 1]
        return (1...days).contains(numbers[2]) && (0...23).contains(numbers[3])
    }

    /// The wall clock now. Only adapters and programs call this; decisions get the time as an argument.
    public static func now() -> Timestamp {
        // In a Double, seconds since 1970 are exact to a quarter of a microsecond: a whole millisecond may come out
        // slightly low.
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000 + 0.001).rounded(.down)))
    }

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    public func advanced(by interval: Seconds) -> Timestamp {
        let (sum, overflows) = rawValue.addingReportingOverflow(interval.milliseconds)
        return Timestamp(milliseconds: overflows ? (interval.rawValue < 0 ? .min : .max) : sum)
    }

    /// Wall time from `earlier` to this one, negative if the clock went back.
    public func since(_ earlier: Timestamp) -> Seconds { Seconds((Double(rawValue) - Double(earlier.rawValue)) / 1000) }

    /// RFC 3339 in UTC, with milliseconds. A time outside the years 1 to 9999 is written as the nearest time that can
    /// be.
    public var description: String {
        let rawValue = min(max(rawValue, Self.written.lowerBound), Self.written.upperBound)
        if let plain = PlainTime.text(rawValue) { return plain }
        // The style truncates to milliseconds, and a binary fraction may lie just below one.
        return Date(timeIntervalSince1970: (Double(rawValue) + 0.5) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

extension Timestamp: WireValue {
    public static let wireType = WireType.time

    public init(json node: JSONNode) throws(TransferError) {
        guard let value = Timestamp(try node.string()) else {
            throw node.refusal("say an RFC 3339 time such as 2026-01-31T08:00:00Z.")
        }
        self = value
    }

    public func write(to text: inout JSONWriter) { text.string(description) }
}
