extension TaskSpec {
    /// The spec without what only its owner may see, and only on request.
    public var withoutSecrets: TaskSpec {
        var spec = self
        spec.url = url.map(removingUserInfo)
        spec.mirrors = mirrors?.map(removingUserInfo)
        spec.proxy = proxy.map(removingUserInfo)
        spec.headers = headers?.map(\.maskedWithValue)
        spec.password = nil
        spec.bearer = nil
        spec.cookies = nil
        spec.resumeData = nil
        spec.clientCertificate?.password = nil
        // A body may contain a password as a header may, and may be megabytes long.
        spec.body = body?.file.map { file in
            var kept = RequestBody()
            kept.file = file
            return kept
        }
        spec.formFields = nil
        spec.s3 = nil
        spec.pieces?.values = []
        return spec
    }
}

extension TaskSpec {
    /// The members of a stored spec, if clients may see all of them unchanged; nil if `withoutSecrets` would change
    /// something, or might.
    package static func shareable(_ text: String) -> JSONMembers? {
        JSONMembers(of: Array(text.utf8), shape.table) { place, value in
            switch shape.secrecy[place] {
            case .none: true
            case .userInfo: hasNoUserInfo(value.text)
            case .whole: false
            }
        }
    }
}

extension SessionConfiguration {
    /// The configuration as clients may see it.
    public var withoutSecrets: SessionConfiguration {
        var configuration = self
        configuration.proxy = proxy.map(removingUserInfo)
        configuration.httpAdditionalHeaders = httpAdditionalHeaders?.map(\.maskedWithValue)
        configuration.clientCertificate?.password = nil
        return configuration
    }
}

extension ResponseInfo {
    /// The answer as clients may see it: cookies are credentials.
    public var withoutSecrets: ResponseInfo {
        var response = self
        response.url = removingUserInfo(url)
        response.headers = headers.map(\.masked)
        return response
    }

    /// A stored answer that clients may see unchanged.
    package struct Shareable: Sendable {
        package let members: JSONMembers
        /// The values from which other members of a task are computed.
        package let figures: ResponseInfo

        /// nil if `withoutSecrets` would change something, or might.
        package init?(_ text: String) {
            var figures = ResponseInfo(url: "")
            let members = JSONMembers(of: Array(text.utf8), ResponseInfo.shape.table) { place, value in
                switch Self.names[place] {
                case "url": return hasNoUserInfo(value.text)
                case "headers":
                    return value.firstElements { !HeaderField.isSecret(name: $0) }
                case "expectedLength": figures.expectedLength = value.integerIfAny() ?? -1
                case "resumedFrom": figures.resumedFrom = value.integerIfAny()
                default: break
                }
                return true
            }
            guard let members else { return nil }
            self.members = members
            self.figures = figures
        }

        private static let names = ResponseInfo.shape.names
    }
}

extension HeaderField {
    /// Replaces a secret value.
    public static let mask = "***"

    /// The field with its value masked if its name says that it is a credential.
    public var masked: HeaderField { isSecret ? HeaderField(name, Self.mask) : self }

    /// The field of a request, masked by its name, or else without a token after the name of an authentication scheme and
    /// without the user info of URLs.
    public var maskedWithValue: HeaderField {
        if isSecret { return masked }
        if let token = maskedToken { return HeaderField(name, token) }
        return HeaderField(name, value.holds(0x40) ? removingUserInfoOfWords(value) : value)
    }

    /// `Bearer ***` for `Bearer abc=`, whose second part is a token68 (RFC 9110 section 11.2). nil if the value has another
    /// form, as a challenge with parameters has.
    package var maskedToken: String? {
        guard let blank = value.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let scheme = value[..<blank], token = value[blank...].drop { $0 == " " }
        guard ["basic", "bearer", "negotiate", "ntlm", "token", "apikey"].contains(scheme.lowercased()), !token.isEmpty,
            token.drop(while: { $0 != "=" }).allSatisfy({ $0 == "=" }),
            token.utf8.allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ",") })
        else { return nil }
        return "\(scheme) \(Self.mask)"
    }

    private var isSecret: Bool {
        var name = name
        return name.withUTF8 { Self.isSecret(name: $0) }
    }

    /// Whether a field with this name, in UTF-8, holds a credential.
    fileprivate static func isSecret(name: some Collection<UInt8>) -> Bool {
        guard name.allSatisfy({ $0 < 0x80 }) else {
            return Array(String(decoding: name, as: UTF8.self).lowercased().utf8).withUnsafeBufferPointer(isSecret)
        }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: name.count) { small in
            for (index, byte) in name.enumerated() {
                small[index] = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
            }
            return isSecret(UnsafeBufferPointer(small))
        }
    }

    private static func isSecret(_ lowercased: UnsafeBufferPointer<UInt8>) -> Bool {
        exact.contains { $0.count == lowercased.count && $0.elementsEqual(lowercased) }
            || endings.contains { lowercased.suffix($0.count).elementsEqual($0) }
            || telling.contains { firstRange(of: $0, in: lowercased) != nil }
    }

    private static let exact = [
        "authorization", "proxy-authorization", "authentication", "authentication-info", "proxy-authentication-info",
        "dpop", "ticket",
    ].map { Array($0.utf8) }
    /// A field whose name ends like this contains a key: of an API, of an account, or for a store's encryption.
    private static let endings = [
        "-authorization", "-key", "-sig", "-session", "-auth", "-pass", "-otp", "-ticket",
    ].map { Array($0.utf8) }
    private static let telling = [
        "token", "secret", "api-key", "apikey", "password", "credential", "session-id", "signature", "cookie", "jwt",
        "-oidc-",
    ].map { Array($0.utf8) }
}

/// Whether the text of a member with one or several URLs certainly has no user info: that would end in an at sign,
/// perhaps written as an escape.
private func hasNoUserInfo(_ text: ArraySlice<UInt8>) -> Bool {
    !text.contains(UInt8(ascii: "@")) && !text.contains(UInt8(ascii: "\\"))
}

/// `url` without the user info of its authority (RFC 3986 section 3.2.1); also works for text that is not a valid URL.
func removingUserInfo(_ url: String) -> String {
    guard url.holds(0x40) else { return url }
    let bytes = Array(url.utf8)
    // A reference may have no scheme (RFC 3986 section 4.2).
    let scheme = bytes.withUnsafeBufferPointer { firstRange(of: Array("://".utf8), in: $0) }
    guard let start = bytes.starts(with: "//".utf8) ? 2 : scheme.map({ $0 + 3 }) else { return url }
    let end = bytes[start...].firstIndex { [0x2F, 0x3F, 0x23].contains($0) } ?? bytes.count
    guard let at = bytes[start..<end].lastIndex(of: 0x40) else { return url }
    return String(decoding: bytes[..<start] + bytes[(at + 1)...], as: UTF8.self)
}

/// The words of a field's value, each without the user info of a URL in it.
private func removingUserInfoOfWords(_ value: String) -> String {
    var (result, word) = ("", "")
    for character in value {
        guard " \t\"<>".contains(character) else {
            word.append(character)
            continue
        }
        result += removingUserInfo(word)
        result.append(character)
        word = ""
    }
    return result + removingUserInfo(word)
}

/// Offset of the first occurrence. A page of a listing calls this some ten thousand times.
private func firstRange(of pattern: [UInt8], in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard let first = pattern.first, bytes.count >= pattern.count else { return nil }
    var start = 0
    while start <= bytes.count - pattern.count {
        if bytes[start] == first {
            var place = 1
            while place < pattern.count, bytes[start + place] == pattern[place] { place += 1 }
            if place == pattern.count { return start }
        }
        start += 1
    }
    return nil
}
