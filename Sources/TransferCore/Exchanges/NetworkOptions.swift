import TransferModel

/// Everything about how to reach the server; resolved from task, session and settings before the engine sees it.
package struct NetworkOptions: Sendable, Hashable {
    /// nil = the environment's proxies; "" = none; else a URL with scheme http, https, socks5 or socks5h.
    package var proxy: String?
    package var username: String?
    package var password: String?
    package var bearer: String?
    package var netrcPath: String?
    /// Given by clients in answers to challenges; each is for its origin alone, wherever redirects lead, and goes before
    /// all others there.
    package var answered: [OriginCredential] = []
    /// The same for the proxy.
    package var proxyCredential: OriginCredential?
    /// nil if nobody is asked of TLS servers and nobody has decided anything.
    @BoxedOptional package var tls: TLSDecisions?
    /// The paths that task or session name; what they hold is in `certificates`.
    package var caFile: String?
    /// The daemon's own configuration names it, not whoever the task is of.
    package var caFileIsTheDaemons = false
    package var clientCertificate: ClientCertificate?
    package var certificates = CertificateTexts()
    package var tlsMinimumVersion: TLSVersion?
    package var httpVersion: HTTPVersion?
    package var knownHostsPath: String?
    package var stallTimeout: Seconds = 60
    package var connectTimeout = Self.longestConnect
    package var allowsPlaintext = true
    package var redirectLimit = 20
    /// Redirects that earlier attempts followed on the way to this request.
    package var redirectsBefore = 0

    package static let longestConnect: Seconds = 30

    package init() {}

    /// A user name and a password for one scheme, host and port.
    package struct OriginCredential: Sendable, Hashable {
        /// As `https://example.org:443`.
        package var origin: String
        package var username: String
        package var password: String
        /// The server wants them by NTLM, which is sent over HTTP/1.1 only.
        package var isNTLM = false

        package init(origin: String, username: String, password: String) {
            self.origin = origin
            self.username = username
            self.password = password
        }
    }
}

/// What `caFile` and `clientCertificate` held when the attempt began: all that the engine sees of them.
///
/// Its thread must not wait for a file system, a fifo or an endless file. And libcurl uses a connection again for whoever
/// names the same certificate: of paths that would be the name, which two users may give to two things; of texts it is
/// what they say.
package struct CertificateTexts: Sendable, Hashable {
    /// PEM; nil = the authorities of the system.
    package var authorities: [UInt8]?
    /// PEM, with a line before it that no other user's has.
    package var certificate: [UInt8]?
    package var key: [UInt8]?

    package init() {}
}
