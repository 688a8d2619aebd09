import TransferModel

/// Says at once what is wrong with a URL, and takes apart the right ones (RFC 3986).
package enum URLRules {
    /// Longest URL other than a data URL, in bytes.
    package static let longest = 16_384

    /// - Throws: `request.bad_url` with the reason.
    package static func parse(_ text: String) throws(TransferError) -> ParsedURL {
        guard !text.isEmpty else { throw bad("it is empty") }
        if let control = text.unicodeScalars.first(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) {
            throw bad("it has the control character \(name(of: control))")
        }
        let (scheme, rest) = try splitScheme(text)
        if scheme == .data { return try parseData(rest) }
        guard text.utf8.count <= longest else { throw bad("it is longer than \(longest) bytes") }
        for character in text where " <>\"\\".contains(character) {
            throw bad("it has \"\(character)\", which must be percent-encoded")
        }
        guard rest.hasPrefix("//") else { throw bad("after \"\(scheme.rawValue):\" must come \"//\"") }
        let (authority, path, query) = split(rest.dropFirst(2))
        return scheme == .file
            ? try parseFile(authority, path)
            : try parseNetwork(scheme, authority, path: path, query: query)
    }

    private static func splitScheme(_ text: String) throws(TransferError) -> (URLScheme, Substring) {
        guard let colon = text.firstIndex(of: ":") else {
            throw bad("it has no scheme; write it as https://host/path")
        }
        let known = URLScheme.allCases.map(\.rawValue).joined(separator: ", ")
        guard let scheme = URLScheme(rawValue: text[..<colon].lowercased()) else {
            throw bad("dld does not speak \"\(text[..<colon].prefix(20))\"; it speaks \(known)")
        }
        return (scheme, text[text.index(after: colon)...])
    }

    private static func split(_ rest: Substring) -> (authority: Substring, path: Substring, query: Substring?) {
        let noFragment = rest.prefix { $0 != "#" }
        let authority = noFragment.prefix { $0 != "/" && $0 != "?" }
        let tail = noFragment[authority.endIndex...]
        let path = tail.prefix { $0 != "?" }
        let query = path.endIndex < tail.endIndex ? tail[tail.index(after: path.endIndex)...] : nil
        return (authority, path, query)
    }

    private static func parseData(_ rest: Substring) throws(TransferError) -> ParsedURL {
        guard rest.contains(",") else { throw bad("a data URL needs a comma before its data") }
        return ParsedURL(
            scheme: .data, host: "", path: String(rest), requestURL: "data:\(rest)", hostKey: "data:")
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
        let at = authority.lastIndex(of: "@")
        let hostAndPort = at.map { authority[authority.index(after: $0)...] } ?? authority
        let (username, password) = try userInfo(at.map { authority[..<$0] })
        let (host, port) = try HostRules.parse(hostAndPort, scheme: scheme)
        let hasControls = PercentCoding.decode(path).contains { $0 < 0x20 || $0 == 0x7F }
        if hasControls, scheme == .ftp || scheme == .ftps || scheme == .sftp {
            throw bad("its path has a control character")
        }
        let shownHost = host.contains(":") ? "[\(host)]" : host
        let encodedPath = path.isEmpty ? "/" : PercentCoding.encodeForbidden(path)
        let encodedQuery = query.map(PercentCoding.encodeForbidden)
        let shownPort = port == scheme.defaultPort ? "" : ":\(port)"
        return ParsedURL(
            scheme: scheme, host: host, port: port, username: username, password: password, path: encodedPath,
            query: encodedQuery,
            requestURL:
                "\(scheme.rawValue)://\(shownHost)\(shownPort)\(encodedPath)\(encodedQuery.map { "?" + $0 } ?? "")",
            hostKey: "\(scheme.rawValue)://\(shownHost):\(port)")
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
