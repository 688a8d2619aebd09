/// Percent-encoding (RFC 3986 section 2.1), on bytes.
enum PercentCoding {
    /// Decoded bytes; a `%` that is not followed by two hexadecimal digits stands for itself.
    static func decode(_ text: some StringProtocol) -> [UInt8] {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = Hex.digit(bytes[index + 1]), let low = Hex.digit(bytes[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return decoded
    }

    /// The text with percent-encoding for every byte that a URL cannot carry but people paste; existing encoding stays.
    static func encodeForbidden(_ text: some StringProtocol) -> String {
        guard text.bytes({ $0.contains(where: isForbidden) }) else { return String(text) }
        var encoded = ""
        for byte in text.utf8 {
            if isForbidden(byte) {
                encoded += "%" + Hex.encode([byte]).uppercased()
            } else {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return encoded
    }

    private static func isForbidden(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"): true
        default: byte >= 0x80
        }
    }
}

/// Hexadecimal digits, on bytes.
package enum Hex {
    static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Two digits for each byte; nil if the text is anything else.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap(digit)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Lower case.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Text from bytes in a charset that senders often forget to name.
package enum Charsets {
    /// UTF-8 if the bytes are valid UTF-8, otherwise ISO-8859-1.
    package static func guess(_ bytes: [UInt8]) -> String {
        String(validating: bytes, as: UTF8.self) ?? latin1(bytes)
    }

    static func latin1(_ bytes: [UInt8]) -> String {
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }

    /// nil if the charset is unknown or the bytes are not valid in it.
    static func decode(_ bytes: [UInt8], charset: some StringProtocol) -> String? {
        switch charset.lowercased() {
        case "utf-8", "utf8": String(validating: bytes, as: UTF8.self)
        case "iso-8859-1", "latin1", "windows-1252": latin1(bytes)
        case "us-ascii", "ascii": bytes.allSatisfy { $0 < 0x80 } ? latin1(bytes) : nil
        default: nil
        }
    }
}
