import TransferModel

/// Parses URLs and says what is wrong with invalid ones (RFC 3986).
package enum URLRules {
    /// Longest URL other than a data URL, in bytes.
    package static let longest = Bounds.url

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
        if !place.isEmpty { (host, port) = try HostRules.parse(place, scheme: .helper) }
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
        let (host, port) = try HostRules.parse(hostAndPort, scheme: scheme)
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
