import TransferModel

/// The domains of a session that have their own rules about unencrypted transfers and TLS.
package struct TransportExceptions: Sendable, Hashable {
    /// The exceptions by domain, in the form of `HostName.canonical`.
    private var domains: [String: DomainException]
    /// The task itself says whether unencrypted transfers are allowed. Its value takes precedence over the exceptions.
    package var yieldsPlaintext = false
    /// The task itself names a TLS version, which takes precedence over the exceptions.
    package var yieldsTLS = false

    package init(_ domains: [String: DomainException] = [:]) {
        self.domains = [:]
        for (domain, exception) in domains { self.domains[HostName.canonical(domain)] = exception }
    }

    package var isEmpty: Bool { domains.isEmpty }

    /// The exception for the host itself, or else for the longest domain above it whose exception includes subdomains.
    package func exception(for host: String) -> DomainException? {
        guard !domains.isEmpty else { return nil }
        let name = HostName.canonical(host)
        if let own = domains[name] { return own }
        return domains.filter { $0.value.includesSubdomains == true && HostName.matches(name, domain: $0.key) }
            .max { $0.key.utf8.count < $1.key.utf8.count }?.value
    }
}

extension NetworkOptions {
    /// The oldest TLS version that is accepted from a host; nil = libcurl's default.
    package func minimumTLSVersion(of host: String) -> TLSVersion? {
        guard !exceptions.isEmpty, !exceptions.yieldsTLS else { return tlsMinimumVersion }
        return exceptions.exception(for: host)?.minimumTLSVersion ?? tlsMinimumVersion
    }

    /// False if every URL may be requested as it is.
    var mayRefusePlaintext: Bool { !allowsPlaintext || !exceptions.isEmpty }
}

extension Boxed where Value == NetworkOptions {
    /// Whether bytes may be sent to a host unencrypted. If there is an exception for the host, it alone decides, as in
    /// `NSExceptionDomains`.
    package func allowsPlaintext(to host: String) -> Bool {
        let exceptions = wrappedValue.exceptions
        guard !exceptions.isEmpty, !exceptions.yieldsPlaintext, let exception = exceptions.exception(for: host)
        else { return wrappedValue.allowsPlaintext }
        return exception.allowsInsecureHTTPLoads ?? false
    }

    /// Whether a URL is refused before anything is sent. If HSTS is obeyed, only the engine can decide, because the
    /// host may have to be reached over https.
    package func refuses(_ url: ParsedURL) -> Bool {
        !(wrappedValue.obeysHSTS && url.scheme == .http) && !allowsHop(to: url)
    }

    /// Whether a URL may be requested as it is.
    func allowsHop(to url: ParsedURL) -> Bool { !url.scheme.isPlaintext || allowsPlaintext(to: url.host) }
}

extension TransferError {
    static func plaintextRefused(to url: ParsedURL) -> TransferError {
        plaintextRefused(url.scheme.rawValue, to: url.host, url: url.requestURL)
    }

    /// The error for a refused URL. Nothing was sent.
    package static func plaintextRefused(_ scheme: String, to host: String, url: String) -> TransferError {
        TransferError(
            .plaintextRefused,
            "\(scheme) is not encrypted, and neither allowsArbitraryLoads nor exceptionDomains allows that for \(host); use https, ftps or sftp.",
            details: ["url": .string(URLRules.withoutSecrets(url))])
    }
}

extension ParsedURL {
    /// The same server over https (RFC 6797 section 8.3); nil if the scheme is not http.
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
            let isAddress = HostName.isWholeAddress(name)
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
