import TransferModel

/// Resolves a Location from a server against the requested URL (RFC 3986 section 5.2).
package enum URLReference {
    /// - Returns: the absolute URL, dot segments removed, checked; HTTP only.
    /// - Throws: `http.protocol` if the result is not an HTTP URL.
    package static func resolve(_ reference: String, against base: String) throws(TransferError) -> ParsedURL {
        let text = absolute(withoutSpaces(reference.trimmed), base)
        guard let url = try? URLRules.parse(text), url.scheme == .http || url.scheme == .https else {
            let shown = URLRules.redacted(URLRules.withoutSecrets(text)).prefix(200)
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
