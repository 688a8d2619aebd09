import TransferModel

/// One challenge of a WWW-Authenticate or Proxy-Authenticate field (RFC 9110 section 11.6.1).
package struct AuthenticationChallenge: Hashable, Sendable {
    /// Lower case.
    package var scheme: String
    package var realm: String?
    /// Of Digest, in lower case.
    var algorithm: String?
    /// Of Digest.
    var hasNonce = false
    /// A token follows the scheme: the server continues an exchange of tokens (RFC 4559 section 5).
    package var hasToken = false

    /// Whether libcurl can answer it: a challenge with an unknown algorithm is ignored (RFC 7616 section 3.3). libcurl
    /// before 8.11 takes SHA-512-256 for SHA-256.
    var isAnswerable: Bool {
        scheme != "digest" || hasNonce && Self.algorithms.contains(algorithm ?? "md5")
    }

    private static let algorithms: Set = ["md5", "md5-sess", "sha-256", "sha-256-sess"]
    /// The challenges of a field value, in order. Unreadable parts are skipped, because a server may send anything.
    package static func parse(_ value: String) -> [AuthenticationChallenge] {
        var reader = Reader(value)
        var found: [AuthenticationChallenge] = []
        while found.count < mostChallenges, let part = reader.next() {
            switch part {
            case .scheme(let name): found.append(AuthenticationChallenge(scheme: name))
            case .parameter("realm", let value):
                if let last = found.indices.last, found[last].realm == nil { found[last].realm = value }
            case .parameter("algorithm", let value): found.indices.last.map { found[$0].algorithm = value.lowercased() }
            case .parameter("nonce", _): found.indices.last.map { found[$0].hasNonce = true }
            case .parameter: break
            case .token: if let last = found.indices.last { found[last].hasToken = true }
            }
        }
        return found
    }

    /// Those of a 401, or of a 407.
    static func all(_ headers: [HeaderField], isProxy: Bool) -> [AuthenticationChallenge] {
        let name = isProxy ? "proxy-authenticate" : "www-authenticate"
        return headers.filter { $0.isNamed(name) }.flatMap { parse($0.value) }
    }

    private static let mostChallenges = 16

    private enum Part {
        case scheme(String)
        /// - Parameter name: in lower case.
        case parameter(name: String, value: String)
        /// A token68 (RFC 9110 section 11.2).
        case token
    }

    private struct Reader {
        private var rest: Substring.UTF8View
        /// The last part was a scheme, with nothing after it yet.
        private var followsScheme = false

        init(_ value: String) { rest = value[...].utf8 }

        mutating func next() -> Part? {
            while true {
                if skip(where: { $0 == UInt8(ascii: ",") || $0 == 32 || $0 == 9 }).contains(UInt8(ascii: ",")) {
                    followsScheme = false
                }
                guard let first = rest.first else { return nil }
                let name = rest.take { !" \t,=\"".utf8.contains($0) }
                if name.isEmpty {
                    // No name begins with this byte.
                    if first == UInt8(ascii: "\"") { _ = rest.takeQuoted() } else { rest.removeFirst() }
                    continue
                }
                _ = skip { $0 == 32 || $0 == 9 }
                if rest.first == UInt8(ascii: "="), !(followsScheme && skipPadding()) {
                    rest.removeFirst()
                    followsScheme = false
                    return .parameter(name: name.lowercased(), value: value())
                }
                if followsScheme {
                    followsScheme = false
                    return .token
                }
                followsScheme = true
                return .scheme(name.lowercased())
            }
        }

        /// The end of a token68; false for the sign between a name and its value.
        private mutating func skipPadding() -> Bool {
            let beyond = rest.drop { $0 == UInt8(ascii: "=") }
            let next = beyond.first { $0 != 32 && $0 != 9 }
            guard next == nil || next == UInt8(ascii: ",") else { return false }
            rest = beyond
            return true
        }

        private mutating func value() -> String {
            _ = skip { $0 == 32 || $0 == 9 }
            return rest.first == UInt8(ascii: "\"") ? rest.takeQuoted() : rest.take { !", \t".utf8.contains($0) }
        }

        private mutating func skip(where condition: (UInt8) -> Bool) -> Substring.UTF8View {
            let end = rest.firstIndex { !condition($0) } ?? rest.endIndex
            defer { rest = rest[end...] }
            return rest[..<end]
        }
    }
}

extension ProtectionSpace {
    /// The demands of a 401 or 407 that a user name and a password can answer, the strongest method first: Negotiate,
    /// Digest, NTLM, Basic. Empty if there are none.
    /// - Parameters:
    ///   - url: the URL that answered.
    ///   - proxy: URL of the proxy; nil if none is known.
    package static func demands(
        status: Int, headers: [HeaderField], url: String, proxy: String?
    ) -> [ProtectionSpace] {
        let isProxy = status == 407
        guard status == 401 || isProxy,
            let place = isProxy ? proxy.flatMap(Self.place(ofProxy:)) : try? URLRules.parse(url),
            place.scheme == .http || place.scheme == .https || place.scheme == .helper && !isProxy,
            let port = place.port
        else { return [] }
        return offered(headers, isProxy: isProxy).map { method, realm in
            ProtectionSpace(
                host: place.host, port: port, protocol: place.schemeName, realm: realm.map(Self.shown),
                method: method, isProxy: isProxy)
        }
    }

    /// What the header of an answer demands.
    package static func demands(_ head: ResponseHead, proxy: String?) -> [ProtectionSpace] {
        guard let status = head.status else { return [] }
        return demands(status: status, headers: head.headers, url: head.url, proxy: proxy)
    }

    /// Whether the answer may lead to a question about credentials.
    static func isAskedFor(_ head: ResponseHead) -> Bool { !offered(head).isEmpty }

    static func isAskedFor(_ head: ResponseHead, by method: AuthenticationMethod) -> Bool {
        offered(head).contains { $0.method == method }
    }

    private static func offered(_ head: ResponseHead) -> [(method: AuthenticationMethod, realm: String?)] {
        guard let status = head.status, status == 401 || status == 407 else { return [] }
        return offered(head.headers, isProxy: status == 407)
    }

    private static func offered(
        _ headers: [HeaderField], isProxy: Bool
    ) -> [(method: AuthenticationMethod, realm: String?)] {
        let challenges = AuthenticationChallenge.all(headers, isProxy: isProxy)
        func first(_ scheme: String) -> AuthenticationChallenge? { challenges.first { $0.scheme == scheme } }
        var ways: [(method: AuthenticationMethod, realm: String?)] = []
        if first("negotiate") != nil { ways.append((.negotiate, nil)) }
        // libcurl reads only the first challenge of Digest.
        if let digest = first("digest"), digest.isAnswerable { ways.append((.httpDigest, digest.realm)) }
        if first("ntlm") != nil { ways.append((.ntlm, nil)) }
        if let basic = first("basic") { ways.append((.httpBasic, basic.realm)) }
        return ways
    }

    /// The address of an HTTP proxy, with the port that libcurl uses.
    static func place(ofProxy proxy: String) -> ParsedURL? {
        guard let scheme = proxy.firstRange(of: "://").map({ proxy[..<$0.lowerBound].lowercased() }),
            let address = ProxyRules.address(proxy)
        else { return nil }
        return try? URLRules.parse("\(scheme)://\(address)")
    }

    static func shown(_ realm: String) -> String {
        let scalars = realm.unicodeScalars.prefix(Bounds.realm).map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            // Includes bidirectional marks: the text must read as it is.
            case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
