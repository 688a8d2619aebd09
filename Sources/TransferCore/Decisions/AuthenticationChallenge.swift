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
    private static let mostChallenges = 16

    /// The challenges of a field value, in order. Unreadable parts are skipped, because a server may send anything.
    package static func parse(_ value: String) -> [AuthenticationChallenge] {
        var rest = value[...].utf8
        var found: [AuthenticationChallenge] = []
        // The last part was a scheme, with nothing after it yet.
        var followsScheme = false
        while found.count < mostChallenges {
            if rest.take(while: { ", \t".utf8.contains($0) }).contains(",") { followsScheme = false }
            guard rest.first != nil else { break }
            let name = rest.take { !" \t,=\"".utf8.contains($0) }.lowercased()
            rest.skipBlanks()
            if name.isEmpty {
                // No name begins with this byte.
                if rest.takeQuoted() == nil { rest.removeFirst() }
            } else if rest.first == UInt8(ascii: "="), !(followsScheme && skipPadding(&rest)) {
                followsScheme = false
                let value = rest.takeArgument(until: ", \t") ?? ""
                if let last = found.indices.last { found[last].set(name, value) }
            } else if followsScheme, let last = found.indices.last {
                // A token68 (RFC 9110 section 11.2).
                followsScheme = false
                found[last].hasToken = true
            } else {
                followsScheme = true
                found.append(AuthenticationChallenge(scheme: name))
            }
        }
        return found
    }

    private mutating func set(_ name: String, _ value: String) {
        switch name {
        case "realm": realm = realm ?? value
        case "algorithm": algorithm = value.lowercased()
        case "nonce": hasNonce = true
        default: break
        }
    }

    /// Skips the end of a token68; false for the sign between a name and its value.
    private static func skipPadding(_ rest: inout Substring.UTF8View) -> Bool {
        let beyond = rest.drop { $0 == UInt8(ascii: "=") }
        let next = beyond.first { $0 != 32 && $0 != 9 }
        guard next == nil || next == UInt8(ascii: ",") else { return false }
        rest = beyond
        return true
    }

    /// Those of a 401, or of a 407.
    static func all(_ headers: [HeaderField], isProxy: Bool) -> [AuthenticationChallenge] {
        let name = isProxy ? "proxy-authenticate" : "www-authenticate"
        return headers.filter { $0.isNamed(name) }.flatMap { parse($0.value) }
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

    fileprivate static func offered(_ head: ResponseHead) -> [(method: AuthenticationMethod, realm: String?)] {
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

/// Which demands for credentials end an attempt, because a client, the store, the helper or Kerberos may answer them.
/// Other demands are the task's answer.
package enum AskedChallenges: Sendable, Hashable {
    case none
    /// Those that Kerberos can answer.
    case negotiate
    case all

    package func include(_ head: ResponseHead) -> Bool {
        switch self {
        case .none: false
        case .negotiate: ProtectionSpace.offered(head).contains { $0.method == .negotiate }
        case .all: ProtectionSpace.isAskedFor(head)
        }
    }
}
