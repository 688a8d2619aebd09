import TransferModel

/// Writes numbers for users: sizes and rates in powers of 1024, durations in two units.
enum Figures {
    /// `0 B`, `512 B`, `1.5 KiB`, `99.9 MiB`, `100 MiB`, `1.0 GiB`.
    static func bytes(_ count: ByteCount) -> String { QuantityText.rounded(bytes: count.rawValue) }

    static func rate(_ rate: ByteRate) -> String { bytes(ByteCount(rate.rawValue)) + "/s" }

    /// A limit: `2.0 MiB/s`, or `none`.
    static func limit(_ rate: ByteRate) -> String { rate.isUnlimited ? "none" : self.rate(rate) }

    private static let year: Int64 = 365 * 86400

    /// `0s`, `52s`, `3m 20s`, `2h 05m`, `4d 7h`, `3y 20d`, `over 100 years`; never negative.
    static func duration(_ length: Seconds) -> String {
        guard length.rawValue < Double(100 * year) else { return "over 100 years" }
        let seconds = Int64(max(0, length.rawValue).rounded())
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m \(twoDigits(seconds % 60))s"
        case ..<86400: return "\(seconds / 3600)h \(twoDigits(seconds % 3600 / 60))m"
        case ..<year: return "\(seconds / 86400)d \(seconds % 86400 / 3600)h"
        default: return "\(seconds / year)y \(seconds % year / 86400)d"
        }
    }

    /// Only the largest unit, for the age of something: `5s`, `3m`, `2h`, `4d`.
    static func age(_ length: Seconds) -> String {
        guard length.rawValue < Double(100 * year) else { return ">100y" }
        let text = duration(length)
        return text.split(separator: " ").first.map(String.init) ?? text
    }

    /// With one decimal below a minute, for how long something took.
    static func took(_ length: Seconds) -> String {
        guard length.rawValue < 59.95 else { return duration(length) }
        return QuantityText.rounded(max(0, length.rawValue)) + "s"
    }

    /// A whole percentage, which is never 100 before the whole is complete.
    static func percent(_ part: ByteCount, of whole: ByteCount) -> Int? {
        guard whole.rawValue > 0 else { return nil }
        if part >= whole { return 100 }
        return min(99, max(0, Int(Double(part.rawValue) / Double(whole.rawValue) * 100)))
    }

    static func count(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
        number == 1 ? "1 \(singular)" : "\(number) \(plural ?? singular + "s")"
    }

    private static func twoDigits(_ value: Int64) -> String { value < 10 ? "0\(value)" : String(value) }
}
