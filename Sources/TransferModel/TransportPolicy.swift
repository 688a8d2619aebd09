/// What differs for one domain from the session's rules about unencrypted transfers and TLS, named as in
/// `NSExceptionDomains`.
public struct DomainException: Hashable, Sendable {
    /// The names below the domain too; false unless set.
    public var includesSubdomains: Bool?
    /// Whether unencrypted transfers are allowed there, whatever `allowsArbitraryLoads` says; false unless set.
    public var allowsInsecureHTTPLoads: Bool?
    /// In place of the session's `tlsMinimumVersion`.
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
    /// As `HostName.canonical` has it.
    public var domain: String
    /// It is true of the names below the domain too.
    public var includesSubdomains: Bool
    /// When the host asked for it last.
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
