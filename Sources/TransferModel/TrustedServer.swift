/// A TLS server that a user trusts for good: by its keys, whatever the verification says.
public struct TrustedServer: Hashable, Sendable {
    public var host: String
    public var port: Int
    /// As CURLOPT_PINNEDPUBLICKEY(3) takes them, the newest last.
    public var keys: [String]
    public var trusted: Timestamp

    public init(host: String, port: Int, keys: [String], trusted: Timestamp) {
        self.host = host
        self.port = port
        self.keys = keys
        self.trusted = trusted
    }

    /// The same as the keys of a session. Only servers of https are asked about.
    public var key: TrustedKey {
        let space = CredentialSpace(host: host, port: port, protocol: "https")
        return TrustedKey(origin: space.origin, key: keys.joined(separator: ";"))
    }
}

extension TrustedServer: WireObject {
    public static let shape = Shape(
        "TrustedServer", Self(host: "", port: 0, keys: [], trusted: Timestamp(milliseconds: 0))
    ) { row in
        row("host", \.host, "In lower case; beyond ASCII as A-labels (`xn--…`); an IPv6 address without brackets.")
        row("port", \.port, "The keys are trusted for https at this port alone.")
        row(
            "keys", \.keys,
            "`sha256//` and the SHA-256 of the SubjectPublicKeyInfo in Base64, as in questions; the newest last, at most \(Bounds.keysOfServer)."
        )
        row("trusted", \.trusted, "When the newest key was trusted.")
    }
}
