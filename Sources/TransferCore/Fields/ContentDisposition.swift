import TransferModel

/// Reads the file name that Content-Disposition offers (RFC 6266, RFC 8187); the name is not yet safe to use.
package enum ContentDisposition {
    /// `filename*` wins over `filename`; nil if there is neither.
    package static func filename(_ header: String) -> String? {
        let parameters = ParameterList.parse(header)
        if let extended = parameters["filename*"].flatMap(extendedValue), !extended.isEmpty { return extended }
        if let continued = continuation(parameters), !continued.isEmpty { return continued }
        guard let plain = parameters["filename"], !plain.isEmpty else { return nil }
        return EncodedWords.decode(Charsets.guess(Array(plain)))
    }

    /// RFC 8187: `charset'language'percent-encoded`.
    private static func extendedValue(_ value: [UInt8]) -> String? {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = PercentCoding.decode(String(decoding: parts[2], as: UTF8.self))
        let charset = String(decoding: parts[0], as: UTF8.self)
        return Charsets.decode(bytes, charset: charset) ?? Charsets.guess(bytes)
    }

    /// RFC 2231 section 3: `filename*0`, `filename*1*` and so on, joined.
    private static func continuation(_ parameters: [String: [UInt8]]) -> String? {
        var bytes: [UInt8] = []
        var charset: String?
        var index = 0
        while index < 100 {
            if let plain = parameters["filename*\(index)"] {
                bytes += plain
            } else if let coded = parameters["filename*\(index)*"] {
                var text = String(decoding: coded, as: UTF8.self)
                if index == 0, let extended = splitCharset(text) { (charset, text) = extended }
                bytes += PercentCoding.decode(text)
            } else {
                break
            }
            index += 1
        }
        guard index > 0 else { return nil }
        return charset.flatMap { Charsets.decode(bytes, charset: $0) } ?? Charsets.guess(bytes)
    }

    private static func splitCharset(_ text: String) -> (String?, String)? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 ? (String(parts[0]), String(parts[2])) : nil
    }
}

/// Parameters of a header field as bytes: values may be in any charset.
enum ParameterList {
    /// Names in lower case; the first parameter of each name counts. Malformed text is skipped up to the next
    /// semicolon.
    static func parse(_ header: String) -> [String: [UInt8]] {
        var scanner = Scanner(bytes: Array(header.utf8))
        var parameters: [String: [UInt8]] = [:]
        scanner.skip(to: UInt8(ascii: ";"))
        while scanner.advance(over: UInt8(ascii: ";")) {
            guard let (name, value) = scanner.parameter() else { continue }
            if parameters[name] == nil { parameters[name] = value }
        }
        return parameters
    }

    private struct Scanner {
        let bytes: [UInt8]
        var index = 0
        private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func advance(over byte: UInt8) -> Bool {
            guard current == byte else { return false }
            index += 1
            return true
        }

        /// Stops at the next `end` outside a quoted string.
        mutating func skip(to end: UInt8) {
            while let byte = current, byte != end {
                if byte == UInt8(ascii: "\"") { _ = quoted() } else { index += 1 }
            }
        }

        mutating func parameter() -> (String, [UInt8])? {
            defer { skip(to: UInt8(ascii: ";")) }
            skipBlanks()
            let start = index
            while let byte = current, byte != UInt8(ascii: "="), byte != UInt8(ascii: ";") { index += 1 }
            let name = String(decoding: bytes[start..<index], as: UTF8.self).trimmed.lowercased()
            guard advance(over: UInt8(ascii: "=")), !name.isEmpty else { return nil }
            skipBlanks()
            if current == UInt8(ascii: "\"") { return (name, quoted()) }
            let valueStart = index
            while let byte = current, byte != UInt8(ascii: ";") { index += 1 }
            var value = bytes[valueStart..<index]
            while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
            return (name, Array(value))
        }

        /// A quoted string with its quoted pairs resolved; an unterminated one ends with the header.
        mutating func quoted() -> [UInt8] {
            var value: [UInt8] = []
            index += 1
            while let byte = current, byte != UInt8(ascii: "\"") {
                if byte == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
                value.append(bytes[index])
                index += 1
            }
            index += 1
            return value
        }

        mutating func skipBlanks() {
            while let byte = current, byte == 0x20 || byte == 0x09 { index += 1 }
        }
    }
}

/// Encoded words (RFC 2047), which some servers send although RFC 6266 forbids them.
enum EncodedWords {
    static func decode(_ text: String) -> String {
        guard text.hasPrefix("=?"), text.hasSuffix("?=") else { return text }
        var decoded = ""
        for word in text.split(separator: " ") {
            let parts = word.split(separator: "?", omittingEmptySubsequences: false)
            guard parts.count == 5, parts[0] == "=", parts[4] == "=", let bytes = bytes(parts[3], coding: parts[2]),
                let part = Charsets.decode(bytes, charset: parts[1].prefix { $0 != "*" })
            else { return text }
            decoded += part
        }
        return decoded
    }

    private static func bytes(_ text: Substring, coding: Substring) -> [UInt8]? {
        switch coding.lowercased() {
        case "b": Base64.decode(text)
        case "q":
            PercentCoding.decode(
                String(text.map { $0 == "_" ? " " : $0 }).replacing("%", with: "%25").replacing("=", with: "%"))
        default: nil
        }
    }
}
