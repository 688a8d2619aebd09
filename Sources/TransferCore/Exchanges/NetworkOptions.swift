import TransferModel

/// Everything about how to reach the server, resolved from task, session and settings before the engine sees it.
package struct NetworkOptions: Sendable, Hashable {
    /// nil = the environment's proxies; "" = none; otherwise a URL with scheme http, https, socks5 or socks5h.
    package var proxy: String?
    /// As in `InterfaceChoice`; nil = any device.
    package var interface: String?
    package var username: String?
    package var password: String?
    package var bearer: String?
    package var netrcPath: String?
    /// The server of the task's own URL refused the task's own credentials, including a user name in that URL.
    package private(set) var isOwnRefused = false
    /// Credentials that answer challenges, from clients, the store or the helper. Each is used only for its origin,
    /// even after redirects, and takes precedence there over all others.
    package var answered: [OriginCredential] = []
    /// The same for the proxy.
    package var proxyCredential: OriginCredential?
    /// A client has said that there are none: a helper that wants some is told to go on without.
    package var declinesCredentials = false
    /// nil if clients are not asked about TLS servers and nothing has been decided.
    @BoxedOptional package var tls: TLSDecisions?
    /// The paths that task or session name; `certificates` has the content of the files.
    package var caFile: String?
    /// The daemon's own configuration names it, not the task or session.
    package var caFileIsTheDaemons = false
    package var clientCertificate: ClientCertificate?
    package var certificates = CertificateTexts()
    /// The path by which the file of a file: URL is open; nil if the URL's own path may be opened.
    package var localFile: String?
    package var tlsMinimumVersion: TLSVersion?
    package var httpVersion: HTTPVersion?
    package var knownHostsPath: String?
    package var stallTimeout: Seconds = 60
    package var connectTimeout = Self.longestConnect
    package var allowsPlaintext = true
    /// Domains with their own rules instead of `allowsPlaintext` and `tlsMinimumVersion`.
    package var exceptions = TransportExceptions()
    /// Hosts that ask to be reached over https alone are reached that way (RFC 6797).
    package var obeysHSTS = false
    package var redirectLimit = 20
    /// Redirects that earlier attempts followed before this request.
    package var redirectsBefore = 0

    package static let longestConnect: Seconds = 30

    package init() {}

    /// Drops everything that identifies the caller to the server of the task's own URL. No other origin gets it: no
    /// location of an upload, no mirror, and no target of a redirect (for which `RequestState` does the same).
    /// `answered` and `tls` stay, because their entries name the origin. A netrc file is dropped too, because it knows
    /// only host names, without schemes and ports, and its default entry matches every host.
    package mutating func dropIdentity() {
        dropCredentials()
        clientCertificate = nil
        certificates.certificate = nil
        certificates.key = nil
    }

    /// Drops the task's own credentials, including a user name in its URL, because its server refused them.
    package mutating func refuseOwn() {
        dropCredentials()
        isOwnRefused = true
    }

    private mutating func dropCredentials() { (username, password, bearer, netrcPath) = (nil, nil, nil, nil) }

    /// Leaves only the credentials that the engine must use: explicit header, bearer, user name (also in the URL),
    /// netrc.
    mutating func chooseCredentials(for url: ParsedURL, _ headers: [HeaderField]) {
        if headers.firstIndex(named: "authorization") != nil {
            dropCredentials()
        } else if bearer != nil, url.scheme == .http || url.scheme == .https {
            (username, password, netrcPath) = (nil, nil, nil)
        } else {
            bearer = nil
            if username == nil, !isOwnRefused, let user = url.username {
                username = user
                password = url.password ?? password
            }
            if username != nil { netrcPath = nil }
        }
    }

    /// A user name and a password for one scheme, host and port.
    package struct OriginCredential: Sendable, Hashable {
        /// The origin, such as `https://example.org:443`.
        package var origin: String
        package var username: String
        package var password: String
        /// The method that the server asked for; nil if unknown.
        package var method: AuthenticationMethod?
        /// The tickets of the daemon's user are used instead.
        package var isTicket = false
        /// It is for one realm, which the challenges of these URLs named; nil if it is for the whole server.
        package var urls: [String]?

        /// Chooses from the credentials for one server the one that goes to a URL there. After a redirect, a credential
        /// for one realm goes only to URLs that have named the realm (RFC 9110 section 11.5).
        package static func index(among all: [Self], for url: String?, isRedirected: Bool) -> Int? {
            url.flatMap { url in all.lastIndex { $0.urls?.contains(url) == true } }
                ?? all.firstIndex { $0.urls == nil } ?? (isRedirected ? nil : all.indices.first)
        }

        package init(origin: String, username: String, password: String) {
            self.origin = origin
            self.username = username
            self.password = password
        }
    }
}

extension Boxed where Value == NetworkOptions {
    /// Like `chooseCredentials`, but returns the same box if nothing changes: code that compares options then compares
    /// only identities.
    func choosingCredentials(for url: ParsedURL, _ headers: [HeaderField]) -> Boxed {
        let given = [wrappedValue.username, wrappedValue.password, wrappedValue.bearer, wrappedValue.netrcPath]
        guard url.username != nil || given.contains(where: { $0 != nil }) else { return self }
        var chosen = wrappedValue
        chosen.chooseCredentials(for: url, headers)
        return chosen == wrappedValue ? self : Boxed(wrappedValue: chosen)
    }
}

/// The content of `caFile` and `clientCertificate` when the attempt began. The engine sees nothing else of these files.
///
/// Its thread must not wait for a file system, a fifo or an endless file. And libcurl reuses a connection for every
/// transfer that names the same certificate. A path is a name that two users may give to different files; the content
/// is not.
package struct CertificateTexts: Sendable, Hashable {
    /// PEM; nil = the system's authorities.
    package var authorities: [UInt8]?
    /// PEM, preceded by a line that is different for each user.
    package var certificate: [UInt8]?
    package var key: [UInt8]?

    package init() {}
}
