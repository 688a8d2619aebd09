import TransferModel

/// Reads the sizes and rates that people type: `500k`, `2M`, `1.5G`, `1024`, and `0` or `none` for no limit.
///
/// Units are powers of 1024; `K`, `KB`, `KiB` and a trailing `/s` all mean what they mean elsewhere in this program.
enum Quantity {
    static func bytes(_ text: String) -> Int64? {
        var rest = Substring(text.lowercased())
        if rest == "none" || rest == "unlimited" { return 0 }
        if rest.hasSuffix("/s") { rest.removeLast(2) }
        if rest.hasSuffix("ib") { rest.removeLast(2) } else if rest.hasSuffix("b") { rest.removeLast() }
        var shift = 0
        if let unit = rest.last, let known = "kmgtp".firstIndex(of: unit) {
            shift = 10 * ("kmgtp".distance(from: "kmgtp".startIndex, to: known) + 1)
            rest.removeLast()
        }
        return scaled(rest, by: shift)
    }

    /// Digits with at most one point, times a power of two; nil where it is no such number or does not fit.
    private static func scaled(_ digits: Substring, by shift: Int) -> Int64? {
        guard digits.first?.isASCIIDigit == true, digits.last?.isASCIIDigit == true,
            digits.allSatisfy({ $0.isASCIIDigit || $0 == "." })
        else { return nil }
        if let whole = Int64(digits) {
            let (value, overflow) = whole.multipliedReportingOverflow(by: Int64(1) << shift)
            return overflow ? nil : value
        }
        guard shift > 0, let number = Double(digits) else { return nil }
        return Int64(exactly: (number * Double(Int64(1) << shift)).rounded())
    }

    static func rate(_ text: String) -> ByteRate? { bytes(text).map { ByteRate($0) } }
}

extension Character {
    var isASCIIDigit: Bool { isASCII && isWholeNumber }
}

/// Reads lengths of time: `90`, `90s`, `500ms`, `5m`, `2h`, `7d`, `1h30m`; a number alone is seconds.
enum DurationText {
    static func seconds(_ text: String) -> Seconds? {
        if let plain = number(text[...]) { return bounded(plain) }
        var total = 0.0
        var rest = text[...]
        var smallest = Double.infinity
        while !rest.isEmpty {
            guard let end = rest.firstIndex(where: { !$0.isASCIIDigit && $0 != "." }),
                let value = number(rest[..<end])
            else { return nil }
            rest = rest[end...]
            let letters = rest.prefix { $0.isLetter }
            guard let unit = unitLength(letters), unit < smallest else { return nil }
            total += value * unit
            smallest = unit
            rest = rest[letters.endIndex...]
        }
        return text.isEmpty ? nil : bounded(total)
    }

    /// Three hundred years: more is a slip of the finger, and far more no longer fits the wire's milliseconds.
    private static let longest = 1e10

    private static func bounded(_ seconds: Double) -> Seconds? {
        seconds <= longest ? Seconds(rawValue: seconds) : nil
    }

    private static func number(_ text: Substring) -> Double? {
        guard text.first?.isASCIIDigit == true, text.allSatisfy({ $0.isASCIIDigit || $0 == "." }) else { return nil }
        return Double(text)
    }

    private static func unitLength(_ unit: Substring) -> Double? {
        switch unit {
        case "ms": 0.001
        case "s": 1
        case "m": 60
        case "h": 3600
        case "d": 86400
        case "w": 604_800
        default: nil
        }
    }
}
