/// Numbers in JSON text.
package enum JSONNumbers {
    /// The same text with `0` or `-0` in place of each number that RFC 8259 section 6 allows but the decoder of
    /// FoundationEssentials refuses as a `Double`, so that both decoders read it alike; `text` itself if it is not JSON.
    /// These numbers are `0e5`, and those too small for a `Double`, such as `1e-400`. All of them are 0.
    package static func plain(_ text: [UInt8]) -> [UInt8] {
        guard let tape = JSONTape(text) else { return text }
        var plain: [UInt8] = []
        var copied = 0
        for entry in tape.entries where entry.kind == .number && entry.count != 0 {
            let digits = tape.slice(entry)
            guard Double(String(decoding: digits, as: UTF8.self)) == 0 else { continue }
            plain += text[copied..<Int(entry.start)]
            plain += digits.first == UInt8(ascii: "-") ? Array("-0".utf8) : [UInt8(ascii: "0")]
            copied = Int(entry.end)
        }
        return plain + text[copied...]
    }

    /// Calls `body` with the digits of a number, and its sign if it is negative, without making a string of it.
    static func withDigits(of value: Int64, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        // The longest is that of Int64.min, with 19 digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { text in
            var (rest, first) = (value.magnitude, text.count)
            repeat {
                first -= 1
                text[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if value < 0 {
                first -= 1
                text[first] = UInt8(ascii: "-")
            }
            body(UnsafeBufferPointer(rebasing: text[first...]))
        }
    }
}
