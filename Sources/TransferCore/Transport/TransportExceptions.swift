import TransferModel

/// The domains of a session that have their own rules about unencrypted transfers and TLS.
package struct TransportExceptions: Sendable, Hashable {
    /// By domain, as `HostName.canonical` has it.
    private var domains: [String: DomainException]
    /// The task says itself whether unencrypted transfers are allowed, and which TLS versions: what it says goes before.
    package var yieldsPlaintext = false
    package var yieldsTLS = false

    package init(_ domains: [String: DomainException] = [:]) {
        self.domains = [:]
        for (domain, exception) in domains { self.domains[HostName.canonical(domain)] = exception }
    }

    package var isEmpty: Bool { domains.isEmpty }

    /// The exception that names the host, else the longest domain above it whose exception includes its subdomains.
    package func exception(for host: String) -> DomainException? {
        guard !domains.isEmpty else { return nil }
        let name = HostName.canonical(host)
        if let own = domains[name] { return own }
        return domains.filter { $0.value.includesSubdomains == true && HostName.matches(name, domain: $0.key) }
            .max { $0.key.utf8.count < $1.key.utf8.count }?.value
    }
}

extension NetworkOptions {
    /// Whether bytes may cross the network unencrypted to a host. An exception for it decides, whatever the session allows,
    /// as in `NSExceptionDomains`.
    package func allowsPlaintext(to host: String) -> Bool {
        guard !exceptions.isEmpty, !exceptions.yieldsPlaintext, let exception = exceptions.exception(for: host)
        else { return allowsPlaintext }
        return exception.allowsInsecureHTTPLoads ?? false
    }

    /// Oldest TLS version to accept from a host; nil = libcurl's.
    package func minimumTLSVersion(of host: String) -> TLSVersion? {
        guard !exceptions.isEmpty, !exceptions.yieldsTLS else { return tlsMinimumVersion }
        return exceptions.exception(for: host)?.minimumTLSVersion ?? tlsMinimumVersion
    }

    /// Whether a URL is refused before anything is sent. Where HSTS is obeyed, only the engine knows: the host may be one
    /// that is reached over https.
    package func refuses(_ url: ParsedURL) -> Bool {
        !(obeysHSTS && url.scheme == .http) && !allowsHop(to: url)
    }

    /// Whether a URL may be asked as it is.
    func allowsHop(to url: ParsedURL) -> Bool { !url.scheme.isPlaintext || allowsPlaintext(to: url.host) }

    /// False if every URL may be asked as it is.
    var mayRefusePlaintext: Bool { !allowsPlaintext || !exceptions.isEmpty }
}

extension TransferError {
    static func plaintextRefused(to url: ParsedURL) -> TransferError {
        plaintextRefused(url.scheme.rawValue, to: url.host, url: url.requestURL)
    }

    /// Nothing was sent.
    package static func plaintextRefused(_ scheme: String, to host: String, url: String) -> TransferError {
        TransferError(
            .plaintextRefused,
            "\(scheme) is not encrypted, and neither allowsArbitraryLoads nor exceptionDomains allows that for \(host); use https, ftps or sftp.",
            details: ["url": .string(URLRules.withoutSecrets(url))])
    }
}

extension ParsedURL {
    /// The same server over https (RFC 6797 section 8.3); nil if this is not a URL of http.
    package var securedHostKey: String? {
        StrictTransportSecurity.secured(hostKey).map { port == 80 ? "\($0):443" : $0 }
    }
}

extension SpecRules {
    /// - Throws: `request.bad_field`.
    func checkDomains(_ domains: [String: DomainException]?) throws(TransferError) {
        guard let domains else { return }
        guard domains.count <= Bounds.exceptionDomains else {
            throw bad("exceptionDomains", "at most \(Bounds.exceptionDomains) domains.")
        }
        var known: [String: String] = [:]
        for (domain, exception) in domains.sorted(by: { $0.key < $1.key }) {
            let field = "exceptionDomains[\"\(domain.prefix(60))\"]"
            let name = HostName.canonical(domain)
            let isAddress = HostRules.isAddress(name)
            guard isAddress || HostName.isDomain(name) else {
                throw bad(field, "give the name of a host or domain, or an address, without scheme, port and \"*\".")
            }
            guard exception.includesSubdomains != true || !isAddress else {
                throw bad("\(field).includesSubdomains", "an address has no names below it; leave it out.")
            }
            if let other = known.updateValue(domain, forKey: name) {
                throw bad(field, "the same domain as \"\(other.prefix(60))\"; name it once.")
            }
        }
    }
}
