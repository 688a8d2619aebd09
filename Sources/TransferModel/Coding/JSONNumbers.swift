/// Numbers that RFC 8259 section 6 allows but the decoder of FoundationEssentials refuses as a `Double`: `0e5`, and
/// numbers too small for a `Double`, such as `1e-400`. All of them are 0.
package enum JSONNumbers {
    /// The same text with `0` or `-0` in place of each such number, so that both decoders read it alike; `text` itself
    /// if it is not JSON.
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
}
