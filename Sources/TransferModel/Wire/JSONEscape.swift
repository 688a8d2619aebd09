/// Escapes of JSON strings (RFC 8259 section 7), both ways.
package enum JSONEscape {
    /// Value of a hexadecimal digit.
    static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The string that well-formed escaped text stands for; nil if half of a surrogate pair is missing.
    static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let kind = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            switch kind {
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0C)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = scalar(&rest) else { return nil }
                bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            default: bytes.append(kind)
            }
        }
        return bytes
    }

    /// The character for `\u` and four digits, or for a surrogate pair, after the first `\u`.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        let first = unit(&rest)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u")
        else { return nil }
        let second = unit(&rest)
        guard UTF16.isTrailSurrogate(second) else { return nil }
        return Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 { unit = unit << 4 | UInt16(rest.popFirst().flatMap(digit) ?? 0) }
        return unit
    }

    /// Appends `text` in quotes.
    package static func quote(_ text: String, into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        text.bytes { utf8 in
            if isPlain(UnsafeRawBufferPointer(utf8)) {
                bytes.append(contentsOf: utf8)
            } else {
                for byte in utf8 { escape(byte, into: &bytes) }
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether no byte needs an escape. Eight bytes are checked at a time, because nearly all written text passes here.
    static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= 8 else {
            return bytes.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        }
        var place = 0
        while place + 8 <= bytes.count {
            if hasSpecial(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)) { return false }
            place += 8
        }
        // The last eight bytes; some of them are checked again.
        return !hasSpecial(bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self))
    }

    /// Whether one of eight bytes needs an escape.
    private static func hasSpecial(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let (quotes, slashes) = (word ^ ones &* 0x22, word ^ ones &* 0x5C)
        // The highest bit of a byte is set if the byte is below 0x20, or zero after the comparison (and was below
        // 0x80).
        let found = (word &- ones &* 0x20) & ~word | (quotes &- ones) & ~quotes | (slashes &- ones) & ~slashes
        return found & (ones &* 0x80) != 0
    }

    static func escape(_ byte: UInt8, into bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0..<0x20:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(hexadecimal[Int(byte >> 4)])
            bytes.append(hexadecimal[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }

    private static let hexadecimal = Array("0123456789abcdef".utf8)
}
