/// The rules for one domain about unencrypted transfers and TLS, which replace the session's. The names are those of
/// `NSExceptionDomains`.
public struct DomainException: Hashable, Sendable {
    public var includesSubdomains: Bool?
    public var allowsInsecureHTTPLoads: Bool?
    public var minimumTLSVersion: TLSVersion?

    public init(
        includesSubdomains: Bool? = nil, allowsInsecureHTTPLoads: Bool? = nil, minimumTLSVersion: TLSVersion? = nil
    ) {
        self.includesSubdomains = includesSubdomains
        self.allowsInsecureHTTPLoads = allowsInsecureHTTPLoads
        self.minimumTLSVersion = minimumTLSVersion
    }
}

extension DomainException: WireObject {
    public static let shape = Shape("DomainException", Self()) { row in
        row("includesSubdomains", \.includesSubdomains, "True: the names below the domain too; default: false.")
        row(
            "allowsInsecureHTTPLoads", \.allowsInsecureHTTPLoads,
            "True: unencrypted transfers are allowed there. False, the default: they are refused. Either holds whatever `allowsArbitraryLoads` says."
        )
        row(
            "minimumTLSVersion", \.minimumTLSVersion,
            "Oldest TLS version to accept there; default: `tlsMinimumVersion`.")
    }
}

/// A host that has asked to be reached over https alone: a Known HSTS Host (RFC 6797 section 8.1).
public struct HSTSHost: Hashable, Sendable {
    /// The name in the form of `HostName.canonical`.
    public var domain: String
    public var includesSubdomains: Bool
    public var learned: Timestamp
    public var expires: Timestamp

    public init(domain: String, includesSubdomains: Bool, learned: Timestamp, expires: Timestamp) {
        self.domain = domain
        self.includesSubdomains = includesSubdomains
        self.learned = learned
        self.expires = expires
    }
}

extension HSTSHost: WireObject {
    public static let shape = Shape(
        "HSTSHost",
        Self(
            domain: "", includesSubdomains: false, learned: Timestamp(milliseconds: 0),
            expires: Timestamp(milliseconds: 0))
    ) { row in
        row("domain", \.domain, "In lower case; beyond ASCII as A-labels (`xn--…`).")
        row("includesSubdomains", \.includesSubdomains, "The names below the domain too.")
        row("learned", \.learned, "When the host asked for it last.")
        row("expires", \.expires, "When it is forgotten, unless it asks again.")
    }
}
