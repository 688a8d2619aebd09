/// A number of bytes, or an offset in a file. Sums and differences saturate at the ends of the range: a server may
/// announce any length, and none may crash the daemon.
public struct ByteCount: RawRepresentable, WireValue, Hashable, Comparable, AdditiveArithmetic,
    ExpressibleByIntegerLiteral, CustomStringConvertible
{
    public static let wireType = WireType.byteCount
    public var rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public init(integerLiteral value: Int64) { rawValue = value }
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    public static func + (a: Self, b: Self) -> Self {
        let (sum, overflows) = a.rawValue.addingReportingOverflow(b.rawValue)
        return Self(overflows ? (b.rawValue < 0 ? .min : .max) : sum)
    }
    public static func - (a: Self, b: Self) -> Self {
        let (difference, overflows) = a.rawValue.subtractingReportingOverflow(b.rawValue)
        return Self(overflows ? (b.rawValue < 0 ? .max : .min) : difference)
    }
    public static let zero = ByteCount(0)
    public var description: String { String(rawValue) }
    public static func kibibytes(_ n: Int64) -> Self { Self(n << 10) }
    public static func mebibytes(_ n: Int64) -> Self { Self(n << 20) }
}

/// Bytes per second; 0 means unlimited, as on the wire.
public struct ByteRate: RawRepresentable, WireValue, Hashable, Comparable, ExpressibleByIntegerLiteral,
    CustomStringConvertible
{
    public var rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public init(integerLiteral value: Int64) { rawValue = value }
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    public static let wireType = WireType.byteRate
    public static let unlimited = ByteRate(0)
    public var isUnlimited: Bool { rawValue == 0 }
    public var description: String { String(rawValue) }

    /// Unlimited if none of them limits.
    package static func lowest(of limits: [ByteRate?]) -> ByteRate {
        limits.compactMap { $0 }.filter { !$0.isUnlimited }.min() ?? .unlimited
    }
}

/// A length of time as the wire writes it: a JSON number of seconds.
public struct Seconds: RawRepresentable, WireValue, Hashable, Comparable, ExpressibleByFloatLiteral,
    ExpressibleByIntegerLiteral, CustomStringConvertible
{
    public static let wireType = WireType.seconds
    public var rawValue: Double
    public init(rawValue: Double) { self.rawValue = rawValue }
    public init(_ rawValue: Double) { self.rawValue = rawValue }
    public init(floatLiteral value: Double) { rawValue = value }
    public init(integerLiteral value: Int64) { rawValue = Double(value) }
    public init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        rawValue = Double(seconds) + Double(attoseconds) * 1e-18
    }
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    /// Bounded to about 30,000 years either way; NaN means zero.
    public var duration: Duration { .milliseconds(milliseconds) }
    public var milliseconds: Int64 {
        rawValue.isNaN ? 0 : Int64(min(max(rawValue * 1000, -Self.bound), Self.bound).rounded())
    }
    private static let bound = 1e15
    public var description: String { "\(rawValue)s" }
}
