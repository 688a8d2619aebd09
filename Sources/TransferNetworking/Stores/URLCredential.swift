import Threading
import TransferModel

/// A user name and a password, a client certificate, or the trust in a server.
open class URLCredential: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// How long a credential is kept once it has worked.
    public enum Persistence: UInt, Sendable {
        case none, forSession, permanent, synchronizable
    }

    public let user: String?
    /// nil also for a permanent credential that another process has stored: the daemon gives no password back.
    public let password: String?
    public let persistence: Persistence
    /// Files of a client certificate, in PEM.
    public let certificateFile: URL?
    public let keyFile: URL?
    let trust: ServerTrust?
    private let isStoredElsewhere: Bool

    /// What a delegate's default method answers: nobody has decided.
    static let unanswered = URLCredential(user: nil, password: nil, persistence: .none)

    public convenience init(user: String, password: String, persistence: Persistence) {
        self.init(user: Optional(user), password: password, persistence: persistence)
    }

    init(
        user: String?, password: String?, persistence: Persistence, certificate: URL? = nil, key: URL? = nil,
        trust: ServerTrust? = nil, isStoredElsewhere: Bool = false
    ) {
        self.user = user
        self.password = password
        self.persistence = persistence
        certificateFile = certificate
        keyFile = key
        self.trust = trust
        self.isStoredElsewhere = isStoredElsewhere
    }

    /// A client certificate.
    /// - Parameters:
    ///   - file: a PEM file with the certificate, or its chain. The daemon reads it.
    ///   - keyFile: its PEM key, if it is in another file.
    ///   - password: the pass phrase of the key.
    ///   - persistence: how long the daemon keeps it.
    public convenience init(
        certificateFile file: URL, keyFile: URL? = nil, password: String? = nil, persistence: Persistence
    ) {
        self.init(user: nil, password: password, persistence: persistence, certificate: file, key: keyFile)
    }

    /// Trusts the server that showed these certificates, whatever the system's store says.
    public convenience init(trust: ServerTrust) {
        self.init(user: nil, password: nil, persistence: .forSession, trust: trust)
    }

    /// Whether there is a password, even if it cannot be read.
    open var hasPassword: Bool { password != nil || isStoredElsewhere }

    /// As answers to questions have it; nil if it holds nothing to send.
    var decision: DecisionCredential? {
        if let certificateFile {
            var certificate = ClientCertificate(certificate: certificateFile.path)
            certificate.key = keyFile?.path
            certificate.password = password
            return DecisionCredential(certificate)
        }
        guard let user else { return nil }
        return DecisionCredential(username: user, password: password ?? "", persistence: persistence.stored)
    }

    // MARK: Foundation

    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        func text(_ key: String) -> String? { coder.decodeObject(of: NSString.self, forKey: key).map { $0 as String } }
        user = text("user")
        password = text("password")
        persistence = Persistence(rawValue: UInt(coder.decodeInteger(forKey: "persistence"))) ?? .none
        certificateFile = text("certificate").map { URL(fileURLWithPath: $0) }
        keyFile = text("key").map { URL(fileURLWithPath: $0) }
        trust = nil
        isStoredElsewhere = false
    }

    open func encode(with coder: NSCoder) {
        coder.encode(user.map { $0 as NSString }, forKey: "user")
        coder.encode(password.map { $0 as NSString }, forKey: "password")
        coder.encode(Int(persistence.rawValue), forKey: "persistence")
        coder.encode(certificateFile.map { $0.path as NSString }, forKey: "certificate")
        coder.encode(keyFile.map { $0.path as NSString }, forKey: "key")
    }

    public func copy(with zone: NSZone?) -> Any { self }
    open override func copy() -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLCredential else { return false }
        return other === self
            || user == other.user && password == other.password && persistence == other.persistence
                && certificateFile == other.certificateFile && keyFile == other.keyFile && trust === other.trust
    }
    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(user)
        hasher.combine(password)
        hasher.combine(persistence)
        return hasher.finalize()
    }
}

extension URLCredential.Persistence {
    var stored: CredentialPersistence {
        switch self {
        case .none: .none
        case .forSession: .session
        case .permanent, .synchronizable: .permanent
        }
    }
}

/// The certificates of a server, in place of Apple's SecTrust.
public final class ServerTrust: NSObject, Sendable {
    /// In DER, the server's own first.
    public let certificates: [Data]
    /// Why the system's store does not trust them, in the verifier's words.
    public let reason: String
    /// `sha256//` and the digest of the server's public key in Base64.
    public let publicKey: String

    init(_ question: Question) {
        certificates = (question.certificates ?? []).compactMap { Data(base64Encoded: $0) }
        reason = question.reason ?? ""
        publicKey = question.key ?? ""
    }
}

/// What credentials are for: a server or proxy, with its realm and method.
open class URLProtectionSpace: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    public let host: String
    public let port: Int
    public let `protocol`: String?
    public let realm: String?
    public let authenticationMethod: String
    public let proxyType: String?
    /// The certificates of a server that is not trusted.
    public let serverTrust: ServerTrust?
    /// Authorities whose client certificates a server accepts, in DER.
    public let distinguishedNames: [Data]?

    public init(host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?) {
        self.host = host
        self.port = port
        self.protocol = `protocol`
        self.realm = realm
        self.authenticationMethod = authenticationMethod ?? NSURLAuthenticationMethodDefault
        (proxyType, serverTrust, distinguishedNames) = (nil, nil, nil)
    }

    public init(proxyHost host: String, port: Int, type: String?, realm: String?, authenticationMethod: String?) {
        self.host = host
        self.port = port
        self.realm = realm
        self.authenticationMethod = authenticationMethod ?? NSURLAuthenticationMethodDefault
        proxyType = type ?? NSURLProtectionSpaceHTTPProxy
        (`protocol`, serverTrust, distinguishedNames) = (nil, nil, nil)
    }

    init(_ space: ProtectionSpace, _ question: Question?) {
        host = space.host
        port = space.port
        `protocol` = space.isProxy ? nil : space.protocol
        realm = space.realm
        authenticationMethod = Self.methods[space.method] ?? NSURLAuthenticationMethodDefault
        proxyType =
            space.isProxy
            ? space.protocol == "https" ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy : nil
        serverTrust = space.method == .serverTrust ? question.map(ServerTrust.init) : nil
        distinguishedNames = question?.distinguishedNames?.compactMap { Data(base64Encoded: $0) }
    }

    static let methods: [AuthenticationMethod: String] = [
        .httpBasic: NSURLAuthenticationMethodHTTPBasic, .httpDigest: NSURLAuthenticationMethodHTTPDigest,
        .ntlm: NSURLAuthenticationMethodNTLM, .negotiate: NSURLAuthenticationMethodNegotiate,
        .serverTrust: NSURLAuthenticationMethodServerTrust,
        .clientCertificate: NSURLAuthenticationMethodClientCertificate,
    ]

    open override func isProxy() -> Bool { proxyType != nil }
    open override var description: String {
        let known = Self.methods.values + [NSURLAuthenticationMethodHTMLForm]
        let method = known.contains(authenticationMethod) ? authenticationMethod : NSURLAuthenticationMethodDefault
        return "<\(type(of: self)) \(ObjectIdentifier(self))>: Host:\(host), Server:\(`protocol` ?? "(null)"), "
            + "Auth-Scheme:\(method), Realm:\(realm ?? "(null)"), Port:\(port), "
            + "Proxy:\(isProxy() ? "YES" : "NO"), Proxy-Type:\(proxyType ?? "(null)")"
    }
    /// Whether a password is not sent as it is.
    open var receivesCredentialSecurely: Bool {
        `protocol` == "https" || authenticationMethod == NSURLAuthenticationMethodHTTPDigest || isOfConnection
    }
    /// Whether the whole connection is concerned, and not one request.
    var isOfConnection: Bool {
        [
            NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate, NSURLAuthenticationMethodServerTrust,
            NSURLAuthenticationMethodClientCertificate,
        ].contains(authenticationMethod)
    }

    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        func text(_ key: String) -> String? { coder.decodeObject(of: NSString.self, forKey: key).map { $0 as String } }
        guard let host = text("host") else { return nil }
        self.host = host
        port = coder.decodeInteger(forKey: "port")
        `protocol` = text("protocol")
        realm = text("realm")
        authenticationMethod = text("method") ?? NSURLAuthenticationMethodDefault
        proxyType = text("proxy")
        (serverTrust, distinguishedNames) = (nil, nil)
    }

    open func encode(with coder: NSCoder) {
        coder.encode(host as NSString, forKey: "host")
        coder.encode(port, forKey: "port")
        coder.encode(`protocol`.map { $0 as NSString }, forKey: "protocol")
        coder.encode(realm.map { $0 as NSString }, forKey: "realm")
        coder.encode(authenticationMethod as NSString, forKey: "method")
        coder.encode(proxyType.map { $0 as NSString }, forKey: "proxy")
    }

    public func copy(with zone: NSZone?) -> Any { self }
    open override func copy() -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLProtectionSpace else { return false }
        return other === self
            || host == other.host && port == other.port && `protocol` == other.protocol && realm == other.realm
                && authenticationMethod == other.authenticationMethod && proxyType == other.proxyType
    }
    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(host)
        hasher.combine(port)
        hasher.combine(`protocol`)
        hasher.combine(realm)
        hasher.combine(authenticationMethod)
        hasher.combine(proxyType)
        return hasher.finalize()
    }
}

// FoundationNetworking has these names, without use.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
