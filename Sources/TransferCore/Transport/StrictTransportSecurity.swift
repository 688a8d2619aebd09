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
        var rest = field[...].utf8
        var names: Set<String> = []
        var age: Int64?
        while true {
            rest.skipBlanks()
            let name = rest.take(while: HeaderField.isTokenByte).lowercased()
            if !name.isEmpty {
                var value: String?
                rest.skipBlanks()
                if rest.take("=") {
                    rest.skipBlanks()
                    let token = rest.take(while: HeaderField.isTokenByte)
                    value = token.isEmpty ? rest.takeQuoted(endsOpen: false) : token
                    guard value != nil else { return nil }
                    rest.skipBlanks()
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
        let most = Int64(Bounds.longestTimeout)
        return text.isDigits ? min(Int64(text) ?? most, most) : nil
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
