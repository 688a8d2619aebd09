import TransferModel

extension SpecRules {
    /// Checks cookies that a client gives in the member `cookies`.
    /// - Throws: `request.bad_field`.
    package func check(_ cookies: [Cookie]) throws(TransferError) {
        for index in cookies.indices { try check(cookies[index], "cookies[\(index)]") }
    }

    /// Checks the initial cookies of a task's own jar.
    func checkCookies(_ spec: TaskSpec, _ url: ParsedURL?) throws(TransferError) {
        guard let cookies = spec.cookies else { return }
        guard cookies.count <= Bounds.cookiesOfTask else { throw bad("cookies", "at most \(Bounds.cookiesOfTask).") }
        guard url.map({ [.http, .https].contains($0.scheme) }) ?? true else {
            throw bad("cookies", "goes with http and https.")
        }
        try check(cookies)
    }

    /// Checks whether a server could have set the cookie.
    /// - Throws: `request.bad_field`.
    private func check(_ cookie: Cookie, _ field: String) throws(TransferError) {
        guard SetCookie.isStorable(name: cookie.name, value: cookie.value),
            !cookie.name.utf8.contains(UInt8(ascii: "=")),
            !(cookie.name + cookie.value).utf8.contains(UInt8(ascii: ";"))
        else {
            throw bad(
                field,
                "name and value have 1 to \(Bounds.cookie) bytes together, no control character and no semicolon; the name no equals sign."
            )
        }
        // A server cannot set them (RFC 6265bis section 5.6, step 5), and HTTP loses or refuses them at the end of a field.
        for (member, text) in [("name", cookie.name), ("value", cookie.value)] where Self.hasMargin(text) {
            throw bad("\(field).\(member)", "leave out the blanks and tabs at its beginning and end.")
        }
        var cookie = cookie
        cookie.domain = HostName.ofCookie(cookie.domain)
        let isHost = cookie.domain.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/;,=@?#".utf8.contains($0) }
        let isAddress =
            HostName.isAddress(cookie.domain)
            && cookie.domain.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        let labels = cookie.domain.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { !$0.isEmpty && !$0.utf8.contains { ":*[]".utf8.contains($0) } }
        guard !cookie.domain.isEmpty, cookie.domain.utf8.count <= 255, isHost, isAddress || isName else {
            throw bad("\(field).domain", "give a host name or an address.")
        }
        guard cookie.hostOnly || !PublicSuffixes.contains(cookie.domain) else {
            throw bad("\(field).domain", "it is a public suffix; set hostOnly.")
        }
        guard cookie.path.hasPrefix("/"), cookie.path.utf8.count <= Bounds.cookieAttribute,
            URLRules.firstControl(cookie.path) == nil
        else {
            throw bad(
                "\(field).path", "give a path that begins with a slash, of at most \(Bounds.cookieAttribute) bytes.")
        }
        guard CookieJar.keepsPrefix(cookie) else {
            throw bad(
                field,
                "`__Secure-`, `__Host-` and `sameSite: none` need `secure`; `__Host-` the path `/` and `hostOnly` too.")
        }
    }

    private static func hasMargin(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return false }
        return [first, last].contains { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
