import TransferModel

/// Reads and writes sizes and times as people write them: `500k`, `1.5G`, `30d`, `250ms`.
package enum QuantityText {
    /// Bytes in `text`: a whole number, or a decimal one with k, M, G or T (1024). Nil where it is neither.
    package static func bytes(_ text: String) -> Int64? {
        if let plain = Int64(text) { return plain }
        guard let suffix = text.last, let shift = byteShifts[suffix], let number = decimal(text.dropLast()) else {
            return nil
        }
        let bytes = (number * Double(Int64(1) << shift)).rounded()
        return bytes < 9.2e18 ? Int64(bytes) : nil
    }

    /// Seconds in `text`: a number of seconds, or one with ms, s, m, h, d or w. Nil where it is neither.
    package static func seconds(_ text: String) -> Double? {
        if let plain = decimal(text[...]) { return plain }
        for (suffix, factor) in timeFactors where text.hasSuffix(suffix) {
            if let number = decimal(text.dropLast(suffix.count)) { return number * factor }
        }
        return nil
    }

    /// The shortest text that `bytes(_:)` reads back as the same number.
    package static func text(bytes: Int64) -> String {
        for (suffix, shift) in [("T", 40), ("G", 30), ("M", 20), ("k", 10)]
        where bytes != 0 && bytes % (Int64(1) << shift) == 0 {
            return "\(bytes >> shift)\(suffix)"
        }
        return String(bytes)
    }

    /// The shortest text that `seconds(_:)` reads back as the same number.
    package static func text(seconds: Double) -> String {
        for (suffix, factor) in [("d", 86400.0), ("h", 3600), ("m", 60)] {
            let count = seconds / factor
            if count >= 1, count == count.rounded() { return "\(Int64(count))\(suffix)" }
        }
        if seconds == seconds.rounded() { return "\(Int64(seconds))s" }
        return "\(number(seconds * 1000))ms"
    }

    private static let byteShifts: [Character: Int] = [
        "k": 10, "K": 10, "m": 20, "M": 20, "g": 30, "G": 30, "t": 40, "T": 40,
    ]
    /// `ms` before `s` and `m`, because all are suffixes.
    private static let timeFactors: [(String, Double)] = [
        ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400), ("w", 7 * 86400),
    ]

    /// Only digits and one point: `Double` itself would take `nan`, `0x1p3` and `1e9`.
    private static func decimal(_ text: Substring) -> Double? {
        guard !text.isEmpty, text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }) else { return nil }
        return Double(text)
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int64(value)) : String(value)
    }
}
