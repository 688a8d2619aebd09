/// Reads and writes sizes, rates and times in the form people use in files, flags and commands: `500k`, `1.5G`,
/// `1h30m`.
package enum QuantityText {
    /// Bytes, or bytes per second, in `text`: `500k`, `2M`, `1.5G`, `1024`; `0`, `none` or `unlimited` for no limit.
    ///
    /// Units are powers of 1024. `K`, `KB` and `KiB` mean the same, and a trailing `/s` is ignored. nil if the text is
    /// not such a number, or the number does not fit.
    package static func bytes(_ text: String) -> Int64? {
        var rest = Substring(text.lowercased())
        if rest == "none" || rest == "unlimited" { return 0 }
        if rest.hasSuffix("/s") { rest.removeLast(2) }
        if rest.hasSuffix("ib") { rest.removeLast(2) } else if rest.hasSuffix("b") { rest.removeLast() }
        let power = rest.last.flatMap(byteUnits.firstIndex).map { $0 + 1 } ?? 0
        return scaled(power == 0 ? rest : rest.dropLast(), by: 10 * power)
    }

    /// Digits with at most one point, times a power of two.
    private static func scaled(_ digits: Substring, by shift: Int) -> Int64? {
        guard let number = decimal(digits), digits.last != "." else { return nil }
        if let whole = Int64(digits) {
            let (value, overflow) = whole.multipliedReportingOverflow(by: Int64(1) << shift)
            return overflow ? nil : value
        }
        return shift > 0 ? Int64(exactly: (number * Double(Int64(1) << shift)).rounded()) : nil
    }

    /// Seconds in `text`: `90`, `90s`, `500ms`, `5m`, `2h`, `7d`, `1h30m`; a number alone is seconds. nil if the text
    /// is neither, or more than about three hundred years: that is a typing error, and much larger numbers do not fit
    /// the wire's milliseconds.
    package static func seconds(_ text: String) -> Double? {
        if let plain = decimal(text[...]) { return bounded(plain) }
        var total = 0.0
        var rest = text[...]
        var smallest = Double.infinity
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCIIDigit || $0 == "." }
            let letters = rest[digits.endIndex...].prefix { $0.isLetter }
            guard let value = decimal(digits), let unit = timeUnits.first(where: { $0.name == letters })?.seconds,
                unit < smallest
            else { return nil }
            total += value * unit
            smallest = unit
            rest = rest[letters.endIndex...]
        }
        return text.isEmpty ? nil : bounded(total)
    }

    private static func bounded(_ seconds: Double) -> Double? { seconds <= 1e10 ? seconds : nil }

    private static let roundedUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// For people: `0 B`, `512 B`, `1.5 KiB`, `99.9 MiB`, `100 MiB`, `1.0 GiB`.
    package static func rounded(bytes: Int64) -> String {
        var value = Double(max(0, bytes))
        var unit = 0
        // 1023.95 would print as 1024.0: the next unit begins where this one rounds up to it.
        while unit < roundedUnits.count - 1, value >= (unit == 0 ? 1024 : 1023.5) {
            value /= 1024
            unit += 1
        }
        return (unit == 0 ? String(Int64(value)) : rounded(value)) + " " + roundedUnits[unit]
    }

    /// One decimal below 99.95, none above.
    package static func rounded(_ value: Double) -> String {
        let tenths = Int64((value * 10).rounded())
        return tenths < 1000 ? "\(tenths / 10).\(tenths % 10)" : String(Int64(value.rounded()))
    }

    /// The shortest text that `bytes(_:)` reads back as the same number.
    package static func text(bytes: Int64) -> String {
        for (power, unit) in byteUnits.enumerated().reversed() {
            let size = Int64(1) << (10 * (power + 1))
            if bytes != 0, bytes % size == 0 { return "\(bytes / size)\(unit == "k" ? "k" : unit.uppercased())" }
        }
        return String(bytes)
    }

    /// The shortest text that `seconds(_:)` reads back as the same number.
    package static func text(seconds: Double) -> String {
        for (name, length) in timeUnits where length > 1 && name != "w" {
            let count = seconds / length
            if count >= 1, count == count.rounded() { return "\(Int64(count))\(name)" }
        }
        if seconds == seconds.rounded() { return "\(Int64(seconds))s" }
        return "\(number(seconds * 1000))ms"
    }

    private static let byteUnits: [Character] = ["k", "m", "g", "t", "p"]

    private static let timeUnits: [(name: Substring, seconds: Double)] = [
        ("w", 604_800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1), ("ms", 0.001),
    ]

    /// Only digits and one point: `Double` itself would accept `nan`, `0x1p3` and `1e9`.
    private static func decimal(_ text: Substring) -> Double? {
        guard text.first?.isASCIIDigit == true, text.allSatisfy({ $0.isASCIIDigit || $0 == "." }) else { return nil }
        return Double(text)
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int64(value)) : String(value)
    }
}

extension Character {
    package var isASCIIDigit: Bool { isASCII && isWholeNumber }
}
