import TransferModel

extension URLRules {
    /// The URL without user info, for clients that may see the rest.
    package static func withoutUserInfo(_ text: String) -> String {
        guard let start = text.firstRange(of: "://")?.upperBound else { return text }
        let authority = text[start...].prefix { !"/?#".contains($0) }
        guard let at = authority.lastIndex(of: "@") else { return text }
        return String(text[..<start]) + String(text[text.index(after: at)...])
    }

    /// The URL of an answer or a redirect, for clients: no user info, and of its query no value that is a credential,
    /// such as a signature. Nobody needs those: a task goes on from its own URL.
    package static func withoutCredentials(_ text: String) -> String {
        let url = withoutUserInfo(text)
        guard let mark = url.firstIndex(of: "?") else { return url }
        let end = url[mark...].firstIndex(of: "#") ?? url.endIndex
        let masked = url[url.index(after: mark)..<end].split(separator: "&", omittingEmptySubsequences: false).map {
            part in
            guard let equals = part.firstIndex(of: "="), isCredential(part[..<equals]) else { return part }
            return part[...equals] + "***"
        }
        return url[...mark] + masked.joined(separator: "&") + url[end...]
    }

    /// Whether a parameter of this name holds one, by the names that clouds and their like use.
    private static func isCredential(_ name: Substring) -> Bool {
        let plain = String(decoding: PercentCoding.decode(name), as: UTF8.self).lowercased()
        return ["sig", "auth", "key", "jwt", "hmac", "policy", "pw", "pwd", "pass"].contains(plain)
            || telling.contains { plain.contains($0) }
    }

    private static let telling = [
        "signature", "token", "secret", "credential", "password", "passwd", "apikey", "api-key", "api_key", "session",
        "authorization",
    ]

    /// The URL for logs: no user info, values of the query masked, no data, no control characters. Takes any text.
    package static func redacted(_ text: String) -> String {
        let printable = String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }))
        if printable.prefix(5).lowercased() == "data:" { return "data:…" }
        let url = withoutUserInfo(printable).prefix { $0 != "#" }
        guard let mark = url.firstIndex(of: "?") else { return String(url) }
        let masked = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false).map {
            part in
            guard let equals = part.firstIndex(of: "=") else { return part.isEmpty ? "" : "***" }
            return part[..<equals] + "=***"
        }
        return url[..<mark] + "?" + masked.joined(separator: "&")
    }
}
