import TransferModel

/// The content of a Strict-Transport-Security field (RFC 6797 section 6.1).
package struct StrictTransportSecurity: Hashable, Sendable {
    /// Seconds, at most `Bounds.longestTimeout`; 0 = the host must be forgotten.
    package var maxAge: Int64
    package var includesSubdomains = false

    /// nil if the field does not conform to the grammar, and is therefore ignored completely (section 8.1). A field
    /// longer than `Bounds.strictTransportSecurity` is ignored too.
    package init?(_ field: String) {
        guard field.utf8.count <= Bounds.strictTransportSecurity else { return nil }
        var rest = Array(field.utf8)[...]
        var names: Set<String> = []
        var age: Int64?
        while true {
            rest.skipSpace()
            if let name = rest.takeToken()?.lowercased() {
                var value: String?
                rest.skipSpace()
                if rest.take("=") {
                    rest.skipSpace()
                    guard let text = rest.takeToken() ?? rest.takeQuoted() else { return nil }
                    value = text
                    rest.skipSpace()
                }
                // No directive may appear twice (section 6.1, rule 2).
                guard names.insert(name).inserted else { return nil }
                switch (name, value) {
                case ("max-age", let value):
                    guard let seconds = value.flatMap(Self.seconds) else { return nil }
                    age = seconds
                case ("includesubdomains", nil): includesSubdomains = true
                // This directive must not have a value (section 6.1.2).
                case ("includesubdomains", _): return nil
                // Unknown directives are ignored (section 6.1, rule 5).
                default: break
                }
            }
            if rest.isEmpty { break }
            guard rest.take(";") else { return nil }
        }
        // `max-age` is required (section 6.1.1).
        guard let age else { return nil }
        maxAge = age
    }

    /// `delta-seconds`: digits alone.
    private static func seconds(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let most = Int64(Bounds.longestTimeout)
        return text.utf8.reduce(0) { min($0 * 10 + Int64($1 - 0x30), most) }
    }

    /// The same URL over https (section 8.3): port 80 becomes 443, and any other port stays.
    /// - Parameter url: a URL as in a request: in lower case up to the host, and without user info.
    /// - Returns: nil if its scheme is not http.
    package static func secured(_ url: String) -> String? {
        let scheme = "http://"
        guard url.hasPrefix(scheme) else { return nil }
        let rest = url.utf8.dropFirst(scheme.utf8.count)
        let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        let (authority, path) = (Substring(rest[..<end]), Substring(rest[end...]))
        let host = authority.hasSuffix(":80") ? authority.dropLast(3) : authority
        return "https://\(host)\(path)"
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func skipSpace() {
        self = drop { $0 == 0x20 || $0 == 0x09 }
    }

    fileprivate mutating func take(_ mark: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: mark) else { return false }
        removeFirst()
        return true
    }

    fileprivate mutating func takeToken() -> String? {
        let token = prefix { HeaderField.isTokenByte($0) }
        guard !token.isEmpty else { return nil }
        self = self[token.endIndex...]
        return String(decoding: token, as: UTF8.self)
    }

    /// Takes a quoted-string (RFC 9110 section 5.6.4) and returns its content; nil if there is none.
    fileprivate mutating func takeQuoted() -> String? {
        guard take("\"") else { return nil }
        var content: [UInt8] = []
        while let byte = popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: content, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = popFirst() else { return nil }
                content.append(escaped)
            default: content.append(byte)
            }
        }
        return nil
    }
}
