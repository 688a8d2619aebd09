import TransferModel

/// Parses URLs and says what is wrong with invalid ones (RFC 3986).
package enum URLRules {
    /// Longest URL other than a data URL, in bytes.
    package static let longest = Bounds.url

    /// Whether the scheme is another one than `file` and `data`. Compares bytes, because it is asked for each exchange.
    package static func usesNetwork(_ url: String) -> Bool {
        !["file:", "data:"].contains { scheme in
            url.utf8.count >= scheme.utf8.count && zip(url.utf8, scheme.utf8).allSatisfy { $0 | 0x20 == $1 | 0x20 }
        }
    }

    /// - Throws: `request.bad_url` with the reason.
    package static func parse(_ text: String) throws(TransferError) -> ParsedURL {
        if let plain = ParsedURL(plain: text) { return plain }
        return try parseAny(text)
    }

    /// Like `parse`, but with the general rules even for plain URLs.
    static func parseAny(_ text: String) throws(TransferError) -> ParsedURL {
        guard !text.isEmpty else { throw bad("it is empty") }
        if let control = firstControl(text) { throw bad("it has the control character \(name(of: control))") }
        let (scheme, name, rest) = try splitScheme(text)
        if scheme == .data { return try parseData(rest) }
        guard text.utf8.count <= longest else { throw bad("it is longer than \(longest) bytes") }
        if text.bytes({ $0.contains(where: mustBeEncoded) }), let byte = text.utf8.first(where: mustBeEncoded) {
            throw bad("it has \"\(Character(Unicode.Scalar(byte)))\", which must be percent-encoded")
        }
        if scheme == .helper { return try parseHelped(name, rest) }
        // Compares bytes, not characters: a combining mark would hide the slash before it.
        guard rest.utf8.starts(with: "//".utf8) else { throw bad("after \"\(scheme.rawValue):\" must come \"//\"") }
        let (authority, path, query) = split(Substring(rest.utf8.dropFirst(2)))
        return scheme == .file
            ? try parseFile(authority, path)
            : try parseNetwork(scheme, authority, path: path, query: query)
    }

    /// `ParsedURL.lastPathComponent` for a URL that needs no other check: its task was admitted, or libcurl requested
    /// it.
    package static func lastPathComponent(_ text: String) -> String? {
        if let name = text.bytes({ PlainURL($0)?.name }) {
            return name < text.utf8.count ? String(Substring(text.utf8.dropFirst(name))) : nil
        }
        guard let (scheme, _, rest) = try? splitScheme(text), scheme != .data, rest.utf8.starts(with: "//".utf8) else {
            return nil
        }
        return ParsedURL.lastComponent(of: split(Substring(rest.utf8.dropFirst(2))).path)
    }

    /// C0, DEL and C1. In UTF-8, all of C1 begins with 0xC2, so plain text is never decoded.
    package static func firstControl(_ text: String) -> Unicode.Scalar? {
        guard text.bytes({ $0.contains { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 } }) else { return nil }
        return text.unicodeScalars.first { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
    }

    private static func mustBeEncoded(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "\\"): true
        default: false
        }
    }

    private static func splitScheme(
        _ text: String
    ) throws(TransferError) -> (scheme: URLScheme, name: String, rest: Substring) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw bad("it has no scheme; write it as https://host/path")
        }
        let rest = text[text.utf8.index(after: colon)...]
        let given = String(text[..<colon])
        if let scheme = URLScheme(rawValue: given) { return (scheme, given, rest) }
        let name = given.lowercased()
        guard URLScheme.isName(name) else { throw unknown(scheme: given) }
        return (URLScheme(rawValue: name) ?? .helper, name, rest)
    }

    /// - Parameter advice: where a helper for it was looked for; nil if no helper can have such a name.
    package static func unknown(scheme: String, _ advice: String? = nil) -> TransferError {
        let known = URLScheme.known.map(\.rawValue).joined(separator: ", ")
        return bad(
            "dld does not speak \"\(scheme.prefix(20))\"; it speaks \(known)" + (advice.map { ", and \($0)" } ?? ""))
    }

    private static func split(_ rest: Substring) -> (authority: Substring, path: Substring, query: Substring?) {
        let (path, mark, end) = rest.bytes { bytes in
            let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.count
            let path = bytes[..<end].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? end
            return (path, bytes[path..<end].firstIndex(of: UInt8(ascii: "?")), end)
        }
        func part(_ from: Int, _ to: Int) -> Substring { Substring(rest.utf8.dropFirst(from).prefix(to - from)) }
        return (part(0, path), part(path, mark ?? end), mark.map { part($0 + 1, end) })
    }

    private static func parseData(_ rest: Substring) throws(TransferError) -> ParsedURL {
        guard rest.contains(",") else { throw bad("a data URL needs a comma before its data") }
        return ParsedURL(
            scheme: .data, host: "", path: String(rest), requestURL: "data:\(rest)", hostKey: "data:")
    }

    /// What comes after the scheme is the helper's own language, except for the authority if there is one.
    private static func parseHelped(_ name: String, _ rest: Substring) throws(TransferError) -> ParsedURL {
        let whole = Substring(rest.utf8.prefix { $0 != UInt8(ascii: "#") })
        guard !whole.isEmpty else { throw bad("after \"\(name):\" must come what is to be fetched") }
        guard whole.utf8.starts(with: "//".utf8) else {
            let path = PercentCoding.encodeForbidden(whole)
            return ParsedURL(
                scheme: .helper, host: "", port: 0, path: path, requestURL: "\(name):\(path)", hostKey: "\(name)://")
        }
        let (authority, path, query) = split(Substring(whole.utf8.dropFirst(2)))
        let at = authority.utf8.lastIndex(of: UInt8(ascii: "@"))
        let place = at.map { authority[authority.utf8.index(after: $0)...] } ?? authority
        let (username, password) = try userInfo(at.map { authority[..<$0] })
        guard place.utf8.allSatisfy({ $0 < 0x80 }) else { throw bad("its host must be ASCII, as a helper gets it") }
        var (host, port) = ("", 0)
        if !place.isEmpty { (host, port) = try HostName.parse(place, scheme: .helper) }
        let encodedPath = PercentCoding.encodeForbidden(path)
        let encodedQuery = query.map(PercentCoding.encodeForbidden)
        let shownHost = host.holds(UInt8(ascii: ":")) ? "[\(host)]" : host
        // The helper gets the authority as written, because it need not be a host name.
        let request = "\(name)://\(place)" + encodedPath
        return ParsedURL(
            scheme: .helper, host: host, port: port, username: username, password: password, path: encodedPath,
            query: encodedQuery, requestURL: request + (encodedQuery.map { "?" + $0 } ?? ""),
            hostKey: "\(name)://\(shownHost)" + (port == 0 ? "" : ":\(port)"))
    }

    private static func parseFile(_ authority: Substring, _ path: Substring) throws(TransferError) -> ParsedURL {
        guard authority.isEmpty || authority.lowercased() == "localhost" else {
            throw bad("a file URL names a path of this machine: file:///path")
        }
        guard path.count > 1, !PercentCoding.decode(path).contains(0) else { throw bad("it names no file") }
        let encoded = PercentCoding.encodeForbidden(path)
        return ParsedURL(
            scheme: .file, host: "", path: encoded, requestURL: "file://\(encoded)", hostKey: "file://")
    }

    private static func parseNetwork(
        _ scheme: URLScheme, _ authority: Substring, path: Substring, query: Substring?
    ) throws(TransferError) -> ParsedURL {
        let at = authority.holds(UInt8(ascii: "@")) ? authority.utf8.lastIndex(of: UInt8(ascii: "@")) : nil
        let hostAndPort = at.map { authority[authority.utf8.index(after: $0)...] } ?? authority
        let (username, password) = try userInfo(at.map { authority[..<$0] })
        let (host, port) = try HostName.parse(hostAndPort, scheme: scheme)
        if scheme == .ftp || scheme == .ftps || scheme == .sftp,
            PercentCoding.decode(path).contains(where: { $0 < 0x20 || $0 == 0x7F })
        {
            throw bad("its path has a control character")
        }
        let shownHost = host.holds(UInt8(ascii: ":")) ? "[\(host)]" : host
        let encodedPath = path.isEmpty ? "/" : PercentCoding.encodeForbidden(path)
        let encodedQuery = query.map(PercentCoding.encodeForbidden)
        var place = scheme.rawValue
        place += "://"
        place += shownHost
        let isDefault = port == scheme.defaultPort
        var hostKey = place
        hostKey += ":"
        hostKey += String(port)
        var requestURL = isDefault ? place : hostKey
        requestURL += encodedPath
        if let encodedQuery {
            requestURL += "?"
            requestURL += encodedQuery
        }
        return ParsedURL(
            scheme: scheme, host: host, port: port, username: username, password: password, path: encodedPath,
            query: encodedQuery,
            requestURL: requestURL, hostKey: hostKey)
    }

    private static func userInfo(_ text: Substring?) throws(TransferError) -> (String?, String?) {
        guard let text, !text.isEmpty else { return (nil, nil) }
        let user = text.prefix { $0 != ":" }
        let password = user.endIndex < text.endIndex ? text[text.index(after: user.endIndex)...] : nil
        return (try userInfoPart(user), try password.map(userInfoPart))
    }

    private static func userInfoPart(_ text: Substring) throws(TransferError) -> String {
        let bytes = PercentCoding.decode(text)
        guard let decoded = String(validating: bytes, as: UTF8.self),
            !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { throw bad("its user name or password has a control character or is not UTF-8") }
        return decoded
    }

    static func bad(_ reason: String) -> TransferError {
        TransferError(.badURL, "The URL is refused: \(reason).", details: ["field": "url"])
    }

    private static func name(of scalar: Unicode.Scalar) -> String {
        switch scalar.value {
        case 0: "NUL"
        case 9: "TAB"
        case 10: "LF"
        case 13: "CR"
        default: "0x" + Hex.encode([UInt8(scalar.value)])
        }
    }
}

// MARK: - Redaction

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
            && parts.joined().allSatisfy { $0.isLetter || $0.isDigit || "-_=".utf8.contains($0) }
    }

    /// `bot123:…`, as in Telegram's URLs. A host's name with a port has only a few characters after the colon.
    private static func isBotToken(_ segment: Substring) -> Bool {
        let parts = PercentCoding.decode(segment).split(separator: UInt8(ascii: ":"), maxSplits: 1)
        guard parts.count == 2, parts[0].starts(with: "bot".utf8), parts[1].count >= 16 else { return false }
        return parts[0].count > 3 && parts[0].dropFirst(3).allSatisfy(\.isDigit)
    }

    /// Whether a value consists of short words and numbers, as sizes, versions, media types and file names do. Keys,
    /// tokens and signatures have long runs that mix letters and digits, or both cases. An at sign may end user info.
    private static func isPlain(_ value: Substring) -> Bool {
        let decoded = PercentCoding.decode(value)
        guard decoded.count <= longestPlain, !decoded.contains(UInt8(ascii: "@")) else { return false }
        return decoded.split { !$0.isLetter && !$0.isDigit }.allSatisfy { word in
            if word.allSatisfy(\.isDigit) { return word.count <= 14 }
            if word.count <= 5 { return true }
            let tail = word.dropFirst()
            return word.count <= 16 && word.allSatisfy(\.isLetter)
                && (tail.allSatisfy { $0 & 0x20 != 0 } || word.allSatisfy { $0 & 0x20 == 0 })
        }
    }

    private static let longestPlain = 64

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

extension URLRules {
    /// Resolves a Location from a server against the requested URL (RFC 3986 section 5.2).
    /// - Returns: the absolute URL, dot segments removed, checked; HTTP only.
    /// - Throws: `http.protocol` if the result is not an HTTP URL.
    package static func resolve(_ reference: String, against base: String) throws(TransferError) -> ParsedURL {
        let text = absolute(withoutSpaces(reference.trimmed), base)
        guard let url = try? parse(text), url.scheme == .http || url.scheme == .https else {
            let shown = redacted(withoutSecrets(text)).prefix(200)
            throw TransferError(.httpProtocol, "The server's Location is not an HTTP URL: \(shown)")
        }
        return url
    }

    /// Servers forget to encode spaces. They become what libcurl makes of them in redirects.
    private static func withoutSpaces(_ reference: String) -> String {
        let (path, tail) = splitPath(reference)
        return path.replacing(" ", with: "%20") + tail.replacing(" ", with: "+")
    }

    private static func absolute(_ reference: String, _ base: String) -> String {
        if hasScheme(reference) { return reference }
        let (scheme, rest) = split(base, after: ":")
        if reference.hasPrefix("//") { return scheme + reference }
        let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
        let origin = "\(scheme)//\(authority)"
        let path = rest.dropFirst(2 + authority.count).prefix { !"?#".contains($0) }
        if reference.isEmpty || reference.hasPrefix("#") { return base }
        if reference.hasPrefix("?") { return "\(origin)\(path.isEmpty ? "/" : path)\(reference)" }
        let (target, tail) = splitPath(reference)
        if target.hasPrefix("/") { return origin + withoutDots(target) + tail }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
        return origin + withoutDots(folder + target) + tail
    }

    private static func hasScheme(_ text: String) -> Bool {
        let scheme = text.prefix { !":/?#".contains($0) }
        return scheme.endIndex < text.endIndex && text[scheme.endIndex] == ":" && !scheme.isEmpty
    }

    /// The text up to and including `mark`, and the rest.
    private static func split(_ text: String, after mark: Character) -> (String, Substring) {
        guard let index = text.firstIndex(of: mark) else { return (text, "") }
        return (String(text[...index]), text[text.index(after: index)...])
    }

    private static func splitPath(_ text: String) -> (path: String, tail: String) {
        let path = text.prefix { !"?#".contains($0) }
        return (String(path), String(text[path.endIndex...]))
    }

    /// RFC 3986 section 5.2.4, for a path that begins with a slash.
    private static func withoutDots(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
