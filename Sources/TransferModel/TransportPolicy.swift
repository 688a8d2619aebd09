/// The rules for one domain about unencrypted transfers and TLS, which replace the session's. The names are those of
/// `NSExceptionDomains`.
public struct DomainException: Hashable, Sendable {
    /// The rules also apply to the names below the domain; false unless set.
    public var includesSubdomains: Bool?
    /// Whether unencrypted transfers are allowed there, regardless of `allowsArbitraryLoads`; false unless set.
    public var allowsInsecureHTTPLoads: Bool?
    /// Replaces the session's `tlsMinimumVersion`.
    public var minimumTLSVersion: TLSVersion?

    public init(
        includesSubdomains: Bool? = nil, allowsInsecureHTTPLoads: Bool? = nil, minimumTLSVersion: TLSVersion? = nil
    ) {
        self.includesSubdomains = includesSubdomains
        self.allowsInsecureHTTPLoads = allowsInsecureHTTPLoads
        self.minimumTLSVersion = minimumTLSVersion
    }
}

extension DomainException: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case includesSubdomains, allowsInsecureHTTPLoads, minimumTLSVersion
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        includesSubdomains = try fields.value(.includesSubdomains)
        allowsInsecureHTTPLoads = try fields.value(.allowsInsecureHTTPLoads)
        minimumTLSVersion = try fields.value(.minimumTLSVersion)
    }
}

/// A host that has asked to be reached over https alone: a Known HSTS Host (RFC 6797 section 8.1).
public struct HSTSHost: Hashable, Sendable, Codable {
    /// The name in the form of `HostName.canonical`.
    public var domain: String
    /// The names below the domain are known hosts too.
    public var includesSubdomains: Bool
    /// When the host last asked for it.
    public var learned: Timestamp
    public var expires: Timestamp

    public init(domain: String, includesSubdomains: Bool, learned: Timestamp, expires: Timestamp) {
        self.domain = domain
        self.includesSubdomains = includesSubdomains
        self.learned = learned
        self.expires = expires
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case domain, includesSubdomains, learned, expires
    }
}
