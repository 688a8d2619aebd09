/// Identifies a question to a client; never reused within a store.
public struct DecisionID: RawRepresentable, WireValue, Hashable, Comparable, CustomStringConvertible {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    /// Whether its task is volatile: a store on disk never gives such an id.
    public var isVolatile: Bool { TaskID(rawValue).isVolatile }
    public var description: String { String(rawValue) }
}

/// What a decision is about.
public enum DecisionKind: String, Word {
    case challenge, redirect, response, begin, cache
}

/// What a client may answer.
public enum DecisionAction: String, Word {
    case useCredential, performDefaultHandling, rejectProtectionSpace, trust, cancel
    case follow, followWith, refuse
    case allow, becomeDownload
    case `continue`, newRequest
    case store, memoryOnly, doNotStore
}

extension DecisionAction {
    /// Only the task's owner may give credentials, requests and destinations, and trust servers.
    public var isOfTheOwner: Bool {
        switch self {
        case .useCredential, .trust, .followWith, .newRequest, .becomeDownload: true
        case .performDefaultHandling, .rejectProtectionSpace, .cancel, .follow, .refuse, .allow, .continue, .store,
            .memoryOnly, .doNotStore:
            false
        }
    }
}

extension Question {
    /// What may be answered.
    public var actions: [DecisionAction] { offered ?? actionsOfKind }

    /// What questions of its kind may be answered.
    public var actionsOfKind: [DecisionAction] {
        switch kind {
        case .challenge: protectionSpace?.method.actions ?? []
        case .redirect: [.follow, .followWith, .refuse]
        case .response: [.allow, .cancel, .becomeDownload]
        case .begin: [.continue, .newRequest, .cancel]
        case .cache: [.store, .memoryOnly, .doNotStore]
        }
    }
}

extension AuthenticationMethod {
    fileprivate var actions: [DecisionAction] {
        switch self {
        case .httpBasic, .httpDigest, .ntlm, .negotiate:
            [.useCredential, .performDefaultHandling, .rejectProtectionSpace, .cancel]
        case .serverTrust: [.trust, .performDefaultHandling, .cancel]
        case .clientCertificate: [.useCredential, .performDefaultHandling, .cancel]
        }
    }
}

/// What happens if nobody answers.
public enum DecisionDefault: String, Word {
    /// The task waits for an answer until its `timeoutIntervalForResource` is over.
    case wait
    /// The same, but then the task fails with `tls.untrusted`.
    case reject
    case follow, allow, `continue`
    /// The answer is kept as RFC 9111 and the capacities allow: on the disk too, or in memory alone.
    case store, memoryOnly
}

extension DecisionKind {
    public var `default`: DecisionDefault {
        switch self {
        case .challenge: .wait
        case .redirect: .follow
        case .response: .allow
        case .begin: .continue
        case .cache: .store
        }
    }
}

extension DecisionDefault {
    /// How long a question waits for an answer; nil = without end.
    public var patience: Seconds? {
        switch self {
        case .wait, .reject: nil
        case .follow, .allow, .continue, .store, .memoryOnly: Seconds(60)
        }
    }
}

/// How a server or proxy wants to get credentials (RFC 7617, RFC 7616), or what a TLS server wants.
public enum AuthenticationMethod: String, Word {
    case httpBasic, httpDigest
    /// NTLM [MS-NLMP], carried in fields as RFC 4559 describes.
    case ntlm
    /// Kerberos within SPNEGO (RFC 4559).
    case negotiate
    /// Trust in a server although its certificate does not verify.
    case serverTrust
    /// A client certificate (RFC 8446 section 4.3.2).
    case clientCertificate
}

/// What credentials are for (RFC 9110 section 11.5), or which TLS server is meant.
public struct ProtectionSpace: Hashable, Sendable {
    public var host: String
    public var port: Int
    public var `protocol`: String
    /// As the server gives it, but shortened and without control characters, because a server may send anything.
    public var realm: String?
    public var method: AuthenticationMethod
    public var isProxy: Bool

    public init(
        host: String, port: Int, protocol: String, realm: String?, method: AuthenticationMethod, isProxy: Bool
    ) {
        self.host = host
        self.port = port
        self.protocol = `protocol`
        self.realm = realm
        self.method = method
        self.isProxy = isProxy
    }

    /// Scheme, name and port, as `https://example.org:443`: what a credential is bound to.
    public var origin: String {
        "\(`protocol`)://\(host.contains(":") ? "[\(host)]" : host)" + (port == 0 ? "" : ":\(port)")
    }
}

extension ProtectionSpace: WireObject {
    public static let shape = Shape(
        "ProtectionSpace", Self(host: "", port: 0, protocol: "", realm: nil, method: .httpBasic, isProxy: false)
    ) { row in
        row("host", \.host, "Host name or address, lower case.")
        row("port", \.port, "Its port.")
        row("protocol", \.protocol, "Scheme of the URL, or of the proxy's.", as: .choice(["http", "https"]))
        row(
            "realm", \.realm,
            "The name that the server gives it: up to \(Bounds.realm) characters, without control characters. A server may claim any name."
        )
        row(
            "method", \.method,
            "How the credentials are sent: of the methods that the server offers, the first of `negotiate` (Kerberos, if the daemon's machine has a realm or nothing else is offered), `httpDigest`, `ntlm` and `httpBasic`. `serverTrust`: a TLS server's certificate is not trusted. `clientCertificate`: a TLS server wants a client certificate."
        )
        row("isProxy", \.isProxy, "True: a proxy asks (407).")
    }
}

/// How long a credential is kept.
public enum CredentialPersistence: String, Word {
    /// For this task alone.
    case none
    case session, permanent
}

/// What a client gives in an answer: a user name and a password, or a certificate with its key.
public struct DecisionCredential: Hashable, Sendable {
    public var username: String?
    public var password: String?
    public var certificate: String?
    public var key: String?
    public var persistence: CredentialPersistence?

    public init(username: String, password: String, persistence: CredentialPersistence? = nil) {
        self.username = username
        self.password = password
        self.persistence = persistence
    }

    public init(_ certificate: ClientCertificate) {
        self.certificate = certificate.certificate
        key = certificate.key
        password = certificate.password
    }

    /// nil if the credential is a user name and a password.
    public var clientCertificate: ClientCertificate? {
        certificate.map {
            var client = ClientCertificate(certificate: $0)
            client.key = key
            client.password = password
            return client
        }
    }
}

extension DecisionCredential: WireObject {
    public static let shape = Shape("Credential", Self(username: "", password: "")) { row in
        row("username", \.username, "User name; required with a password, unless a certificate is wanted.")
        row("password", \.password, "Password, or pass phrase of the key; never shown.")
        row(
            "certificate", \.certificate,
            "`clientCertificate`: absolute path of a PEM certificate (chain), read with the owner's rights.")
        row("key", \.key, "Path of its PEM key, if the key is in another file.")
        row(
            "persistence", \.persistence,
            "How long it is kept. `none` (default): this task uses it for this scheme, host and port. `session`: once it has worked, all tasks of the session use it for this protection space, until the session ends. `permanent`: like `session`, and the owner's store keeps it (in an `ephemeral` session the same as `session`). A refused credential is not sent again."
        )
    }
}

/// What a client sees of a question; holds no secrets.
public struct Question: Hashable, Sendable {
    public var kind: DecisionKind
    public var `default`: DecisionDefault
    /// When the default is taken, by the wall clock as it was when the question was asked.
    public var deadline: Timestamp?
    public var protectionSpace: ProtectionSpace?
    public var previousFailureCount: Int?
    public var proposedUser: String?
    public var response: ResponseInfo?
    public var request: TaskRequest?
    public var certificates: [String]?
    public var key: String?
    public var reason: String?
    public var keyChanged: Bool?
    public var distinguishedNames: [String]?
    /// The actions that this task accepts, if they are fewer than its kind allows.
    public var offered: [DecisionAction]?

    public init(_ kind: DecisionKind, default: DecisionDefault? = nil) {
        self.kind = kind
        self.default = `default` ?? kind.default
    }
}

extension Question: WireObject {
    public static let shape = Shape("Question", Self(.begin)) { row in
        row("kind", \.kind, "What it is about.")
        row(
            "default", \.default,
            "What happens if nobody answers. `wait`: the task waits until its `timeoutIntervalForResource` has passed, then fails with `deadline.exceeded`. `reject`: the same, but it fails with `tls.untrusted`. Otherwise the action of this name is taken at `deadline`. With `cache` it is what the daemon proposes: `store`, or `memoryOnly` if the answer is not to reach a disk."
        )
        row(
            "deadline", \.deadline,
            "When the default is taken: 60 s after the question, on the boot clock. Absent with `wait` and `reject`.")
        row("protectionSpace", \.protectionSpace, "`challenge`: the server or proxy that the question is about.")
        row(
            "previousFailureCount", \.previousFailureCount,
            "`challenge`: credentials that this server or proxy has refused. After \(Bounds.credentialFailures) nobody is asked again: the task fails with `auth.required`, or with `acceptsAnyStatus` the refusal is its answer."
        )
        row(
            "proposedUser", \.proposedUser,
            "`challenge`: the user name that was refused last, or that of the stored credential.")
        row(
            "response", \.response,
            "`challenge`, `redirect`, `response`, `cache`: the header of the answer that the question is about, masked as in events."
        )
        row(
            "request", \.request,
            "`redirect`: the request that would follow. `begin`: the task's own. Masked as in events. Members that an answer leaves out keep their unmasked values."
        )
        row(
            "certificates", \.certificates,
            "`serverTrust`: the certificates that the server showed, its own first, as DER in Base64, up to 32 KiB.")
        row(
            "key", \.key,
            "`serverTrust`: its public key, which `trust` trusts: `sha256//` and the SHA-256 of the SubjectPublicKeyInfo in Base64, in the form of CURLOPT_PINNEDPUBLICKEY(3)."
        )
        row(
            "reason", \.reason,
            "`serverTrust`: why the certificate is not trusted, in the verifier's words. `negotiate`, and after it another method: why Kerberos was no help, in its words."
        )
        row("keyChanged", \.keyChanged, "`serverTrust`: true if a client trusts another key of this server.")
        row(
            "distinguishedNames", \.distinguishedNames,
            "`clientCertificate`: names of the authorities whose certificates the server accepts, as DER in Base64, up to 32 KiB. A server may name none."
        )
        row(
            "actions", \.offered,
            "Actions that `decision.answer` accepts. For another user's task, those that administrators may take; `becomeDownload` only for data tasks."
        )
    }
}

/// Keys of one server that a session trusts.
public struct TrustedKey: Hashable, Sendable {
    /// As `https://example.org:443`.
    public var origin: String
    /// As CURLOPT_PINNEDPUBLICKEY(3) takes it: one key, or several separated by `;`.
    public var key: String

    public init(origin: String, key: String) {
        self.origin = origin
        self.key = key
    }

    /// Several keys of one server, for machines that take turns behind one name, as CURLOPT_PINNEDPUBLICKEY(3) takes
    /// them. If there are more than `Bounds.keysOfServer`, the oldest are dropped.
    public static func list(_ keys: String?, adding others: String?) -> String? {
        let known = (keys ?? "").split(separator: ";")
        let new = (others ?? "").split(separator: ";")
        let all = known.filter { !new.contains($0) } + new
        return all.isEmpty ? nil : all.suffix(Bounds.keysOfServer).joined(separator: ";")
    }
}

/// A stored question. Holds secrets; never leaves the daemon.
public struct DecisionRecord: Hashable, Sendable {
    public enum State: String, Word {
        case open, answered
        /// The task continued without an answer.
        case closed
    }

    public var id: DecisionID
    public var task: TaskID
    public var session: SessionKey
    public var state: State
    public var question: Question
    public var askedAt: Timestamp
    public var answer: DecisionAnswer?
    public var settled: SettledDecisions

    public init(
        id: DecisionID, task: TaskID, session: SessionKey, state: State, question: Question, askedAt: Timestamp,
        answer: DecisionAnswer?, settled: SettledDecisions
    ) {
        self.id = id
        self.task = task
        self.session = session
        self.state = state
        self.question = question
        self.askedAt = askedAt
        self.answer = answer
        self.settled = settled
    }
}

extension TaskStatus {
    /// The task is waiting for a client's answer.
    public var awaitsAnswer: Bool { state == .waiting && (reason == .authentication || reason == .decision) }
}
