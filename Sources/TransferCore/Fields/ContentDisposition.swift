import TransferModel

/// Reads the file name that Content-Disposition offers (RFC 6266, RFC 8187); the name is not yet safe to use.
package enum ContentDisposition {
    /// `filename*` wins over `filename`; nil if there is neither.
    package static func filename(_ header: String) -> String? {
        let parameters = header.parameters
        if let extended = parameters["filename*"].flatMap(extendedValue), !extended.isEmpty { return extended }
        if let continued = continuation(parameters), !continued.isEmpty { return continued }
        guard let plain = parameters["filename"], !plain.isEmpty else { return nil }
        return withoutEncodedWords(plain)
    }

    /// RFC 8187: `charset'language'percent-encoded`.
    private static func extendedValue(_ value: String) -> String? {
        guard let (charset, text) = splitCharset(value) else { return nil }
        return decoded(PercentCoding.decode(text), charset)
    }

    private static func decoded(_ bytes: [UInt8], _ charset: String?) -> String {
        charset.flatMap { Charsets.decode(bytes, charset: $0) } ?? Charsets.guess(bytes)
    }

    /// RFC 2231 section 3: `filename*0`, `filename*1*` and so on, joined.
    private static func continuation(_ parameters: [String: String]) -> String? {
        var bytes: [UInt8] = []
        var charset: String?
        var index = 0
        while index < 100 {
            if let plain = parameters["filename*\(index)"] {
                bytes += plain.utf8
            } else if let coded = parameters["filename*\(index)*"] {
                var text = coded
                if index == 0, let extended = splitCharset(text) { (charset, text) = extended }
                bytes += PercentCoding.decode(text)
            } else {
                break
            }
            index += 1
        }
        return index > 0 ? decoded(bytes, charset) : nil
    }

    private static func splitCharset(_ text: String) -> (String?, String)? {
        // By scalars: a combining mark makes one character with the quote before it.
        let parts = text.unicodeScalars.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 ? (String(parts[0]), String(parts[2])) : nil
    }

    /// Encoded words (RFC 2047), which some servers send although RFC 6266 forbids them.
    private static func withoutEncodedWords(_ text: String) -> String {
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
