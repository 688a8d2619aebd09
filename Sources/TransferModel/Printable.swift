/// Makes text that others chose (file names, URLs, sentences of servers) safe to show.
///
/// A terminal obeys escape sequences, and bidirectional controls can make `gpj.exe` look like `exe.jpg`. Both are
/// replaced.
package enum Printable {
    package static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { result.append(isUnsafe(scalar) ? "\u{FFFD}" : scalar) }
        return String(result)
    }

    /// The same for text of several lines with tabs in them.
    package static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { self.text(String($0)) }
                .joined(separator: "\t")
        }.joined(separator: "\n")
    }

    /// JSON in which unsafe characters are escaped, so that it keeps its value (RFC 8259 section 7).
    package static func json(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x7F }), text.unicodeScalars.contains(where: isUnsafe) else {
            return text
        }
        var result = ""
        for scalar in text.unicodeScalars {
            if !isUnsafe(scalar) {
                result.unicodeScalars.append(scalar)
                continue
            }
            for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                let digits = String(unit, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return result
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029: true
        // LRE…RLO, LRI…PDI and the marks: UAX #9 section 2.
        case 0x202A...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C: true
        case 0xE0000...0xE007F, 0xFEFF: true
        default: false
        }
    }
}
