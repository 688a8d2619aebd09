import TransferModel

extension URLRules {
    /// The URL without user info, for clients that may see the rest.
    /// - Parameter ofServer: whether it is a word in what a server sent, perhaps `url=//host/`.
    package static func withoutUserInfo(_ text: String, ofServer: Bool = false) -> String {
        let (bytes, sign) = (text.utf8, UInt8(ascii: "@"))
        guard text.holds(sign),
            let start = ofServer ? authority(in: text[...]) : bytes.firstRange(of: "://".utf8)?.upperBound
        else { return text }
        let authority = bytes[start...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: sign) else { return text }
        return String(text[..<start]) + String(text[bytes.index(after: at)...])
    }

    /// Where the authority begins: after `://`, or after the slashes of a reference without a scheme (RFC 3986 section
    /// 4.2), which may be the value of a parameter.
    private static func authority(in text: Substring) -> String.Index? {
        if text.utf8.starts(with: "//".utf8) { return text.utf8.index(text.startIndex, offsetBy: 2) }
        return ["://", "=//"].lazy.compactMap { text.utf8.firstRange(of: $0.utf8)?.upperBound }.min()
    }

    /// A URL from the client, for events and answers. It has no user info. In the query and in parameters of the path,
    /// values are masked if the name says that they are credentials, such as signatures. The fragment is masked, because
    /// no server receives it and some services keep keys there.
    package static func withoutCredentials(_ text: String) -> String {
        if isBare(text) { return text }
        let whole = String(withoutParameters(withoutUserInfo(text)[...], isCredential))
        let end = whole.utf8.firstIndex(of: UInt8(ascii: "#")) ?? whole.endIndex
        let (url, fragment) = (whole[..<end], end < whole.endIndex ? "#" + mask : "")
        guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return url + fragment }
        let query = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        return url[...mark] + query.map { masked($0, by: isCredential) }.joined(separator: "&") + fragment
    }

    /// A URL from a server, such as a redirect's target, for clients. In path, query and fragment, a parameter's value
    /// is shown only if it cannot be a credential. Clouds name their credentials as they like, and nobody needs them: a
    /// task resumes from its own URL. A segment of the path is shown unless it looks like a credential.
    package static func withoutSecrets(_ text: String) -> String {
        let url = withoutUserInfo(text, ofServer: true)
        var rest = url[...]
        let scheme = rest.prefix { !"/?#".contains($0) }
        if scheme.last == ":", rest[scheme.endIndex...].hasPrefix("//") {
            rest = rest.dropFirst(scheme.count + 2).drop { !"/?#".contains($0) }
        }
        let path = rest.prefix { !"?#".contains($0) }
        var name: Substring = ""
        var shown =
            url[..<rest.startIndex]
            + masked(path, between: "/;") { part in
                defer { if !part.isEmpty, !part.contains("=") { name = part } }
                return isSecretSegment(part, after: name) ? mask : masked(part, by: isSecret)
            }
        for part in rest[path.endIndex...].split(separator: "#", omittingEmptySubsequences: false).enumerated() {
            if part.offset > 0 { shown += "#" }
            shown += masked(part.element, between: "?&;") { field in
                // A query may consist of a token alone.
                field.contains("=") ? masked(field, by: isSecret) : isPlain(field) ? field : mask
            }
        }
        return String(shown)
    }

    /// The value of a field, for clients and logs: each URL in it as by `withoutSecrets`.
    ///
    /// - Parameter holdsReferences: whether other parts may be relative references. Else they are left as they are.
    package static func maskingURLs(in value: String, holdsReferences: Bool = false) -> String {
        // Only such values hold URLs; those of most fields are left as they are without a look at their parts.
        let holdsURL = value.holds(UInt8(ascii: "/")) && value.holds(UInt8(ascii: ":"))
        guard holdsURL || holdsReferences else { return value }
        let shown = masked(value[...], between: " \t\"<>") { word in
            // A comma may separate URLs or be in one.
            var isInside = false
            return masked(word, between: ",") { part in
                if authority(in: part) != nil || holdsReferences && !isInside {
                    isInside = true
                    return withoutSecrets(String(part))[...]
                }
                return isInside && !isPlain(part) ? mask : part
            }
        }
        return String(shown)
    }

    private static func masked(
        _ text: Substring, between delimiters: String, by body: (Substring) -> Substring
    ) -> Substring {
        var result: Substring = ""
        var rest = text
        while true {
            let part = rest.prefix { !delimiters.contains($0) }
            result += body(part)
            guard part.endIndex < rest.endIndex else { return result }
            result.append(rest[part.endIndex])
            rest = rest[rest.index(after: part.endIndex)...]
        }
    }

    private static func masked(_ field: Substring, by isHidden: (Substring, Substring) -> Bool) -> Substring {
        guard let equals = field.firstIndex(of: "=") else { return field }
        let (name, value) = (field[..<equals], field[field.index(after: equals)...])
        return isHidden(name, value) ? field[...equals] + mask : field
    }

    /// Whether it has no user info, no parameters, no query and no fragment, like most URLs.
    private static func isBare(_ text: String) -> Bool {
        text.bytes { bytes in
            !bytes.contains { byte in
                switch byte {
                case UInt8(ascii: "@"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"): true
                default: false
                }
            }
        }
    }

    private static let mask: Substring = "***"

    /// Bytes of a URL in an event.
    package static let longestInEvents = 2048

    /// The URL of a task for its events, which are stored: without credentials, without the data of a data URL, and at
    /// most 2048 bytes (an ellipsis replaces the rest).
    package static func inEvents(_ text: String) -> String {
        // The usual case; a million tasks are added at a time.
        if text.utf8.count <= longestInEvents, text.utf8.first.map({ $0 | 0x20 }) != UInt8(ascii: "d"), isBare(text) {
            return text
        }
        if text.prefix(5).lowercased() == "data:" { return "data:…" }
        let url = withoutCredentials(text)
        guard url.utf8.count > longestInEvents else { return url }
        return String(decoding: url.utf8.prefix(longestInEvents - 4), as: UTF8.self) + "…"
    }

    /// Secret by its name, or because its value is more than a plain word or number.
    private static func isSecret(_ name: Substring, _ value: Substring) -> Bool {
        isCredential(name, value) || !isPlain(value)
    }

    /// Whether a segment of a path looks like a credential: a JSON Web Token, a bot's token, or more than a plain word
    /// or number after a name such as `token`. Digests are shown, because servers name files by them.
    private static func isSecretSegment(_ segment: Substring, after name: Substring) -> Bool {
        !isPlain(segment) && (isCredential(name, segment) || isWebToken(segment) || isBotToken(segment))
    }

    /// `eyJ….….…` (RFC 7519): `eyJ` is how a JSON object begins in Base64.
    private static func isWebToken(_ segment: Substring) -> Bool {
        let parts = PercentCoding.decode(segment).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count >= 3 && parts[0].starts(with: "eyJ".utf8)
            && parts.joined().allSatisfy { isLetter($0) || isDigit($0) || "-_=".utf8.contains($0) }
    }

    /// `bot123:…`, as in Telegram's URLs. A host's name with a port has only a few characters after the colon.
    private static func isBotToken(_ segment: Substring) -> Bool {
        let parts = PercentCoding.decode(segment).split(separator: UInt8(ascii: ":"), maxSplits: 1)
        guard parts.count == 2, parts[0].starts(with: "bot".utf8), parts[1].count >= 16 else { return false }
        return parts[0].count > 3 && parts[0].dropFirst(3).allSatisfy(isDigit)
    }

    /// Whether a value consists of short words and numbers, as sizes, versions, media types and file names do. Keys,
    /// tokens and signatures have long runs that mix letters and digits, or both cases. An at sign may end user info.
    private static func isPlain(_ value: Substring) -> Bool {
        let decoded = PercentCoding.decode(value)
        guard decoded.count <= longestPlain, !decoded.contains(UInt8(ascii: "@")) else { return false }
        return decoded.split { !isLetter($0) && !isDigit($0) }.allSatisfy { word in
            if word.allSatisfy(isDigit) { return word.count <= 14 }
            if word.count <= 5 { return true }
            let tail = word.dropFirst()
            return word.count <= 16 && word.allSatisfy(isLetter)
                && (tail.allSatisfy { $0 & 0x20 != 0 } || word.allSatisfy { $0 & 0x20 == 0 })
        }
    }

    private static let longestPlain = 64
    private static func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 }
    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    /// Judged by the names that cloud services use.
    private static func isCredential(_ name: Substring, _ value: Substring) -> Bool {
        let plain = String(decoding: PercentCoding.decode(name), as: UTF8.self).lowercased()
        return ["sig", "auth", "key", "jwt", "hmac", "policy", "pw", "pwd", "pass", "code", "sid", "ticket", "verify"]
            .contains(plain)
            || telling.contains { plain.contains($0) }
    }

    private static let telling = [
        "signature", "token", "secret", "credential", "password", "passwd", "apikey", "api-key", "api_key", "session",
        "authorization", "oauth", "hdnts", "hdnea", "hdntl",
    ]

    /// The URL for logs: no user info, values of the query and of path parameters (`;jsessionid=…`) masked, no
    /// fragment, no data, no control characters. Accepts any text.
    package static func redacted(_ text: String) -> String {
        let printable = String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }))
        if printable.prefix(5).lowercased() == "data:" { return "data:…" }
        let url = withoutParameters(withoutUserInfo(printable).prefix { $0 != "#" }) { _, _ in true }
        guard let mark = url.firstIndex(of: "?") else { return String(url) }
        let masked = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false).map {
            part in
            guard let equals = part.firstIndex(of: "=") else { return part.isEmpty ? "" : "***" }
            return part[..<equals] + "=***"
        }
        return url[..<mark] + "?" + masked.joined(separator: "&")
    }

    /// Some servers keep sessions in parameters of the path (RFC 3986 section 3.3).
    private static func withoutParameters(
        _ url: Substring, _ isHidden: (Substring, Substring) -> Bool
    ) -> Substring {
        guard url.holds(UInt8(ascii: ";")) else { return url }
        let path = url.prefix { $0 != "?" }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            var parts = segment.split(separator: ";", omittingEmptySubsequences: false)
            for index in parts.indices.dropFirst() { parts[index] = masked(parts[index], by: isHidden) }
            return parts.joined(separator: ";")
        }
        return segments.joined(separator: "/") + url[path.endIndex...]
    }
}
