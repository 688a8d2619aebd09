/// A TLS server that a user trusts for good: by its keys, whatever the verification says.
public struct TrustedServer: Hashable, Sendable, Codable {
    /// In lower case; an IPv6 address without brackets.
    public var host: String
    public var port: Int
    /// As CURLOPT_PINNEDPUBLICKEY(3) takes them, the newest last.
    public var keys: [String]
    /// When the newest key was trusted.
    public var trusted: Timestamp

    public init(host: String, port: Int, keys: [String], trusted: Timestamp) {
        self.host = host
        self.port = port
        self.keys = keys
        self.trusted = trusted
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case host, port, keys, trusted
    }

    /// The same as the keys of a session. Only servers of https are asked about.
    public var key: TrustedKey {
        let space = CredentialSpace(host: host, port: port, protocol: "https")
        return TrustedKey(origin: space.origin, key: keys.joined(separator: ";"))
    }
}
