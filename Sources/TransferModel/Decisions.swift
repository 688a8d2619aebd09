/// Names a question to a client; never used again in one store.
public struct DecisionID: RawRepresentable, Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    /// Whether it is of a volatile task: no other store ever gives such an id.
    public var isVolatile: Bool { TaskID(rawValue).isVolatile }
    public var description: String { String(rawValue) }
}

/// What a decision is about.
public enum DecisionKind: String, Word {
    case challenge, redirect, response, begin, cache
}

/// What a client may answer.
public enum DecisionAction: String, Word {
    case useCredential, performDefaultHandling, rejectProtectionSpace, cancel
    case follow, followWith, refuse
    case allow, becomeDownload
    case `continue`, newRequest
}

/// What happens if nobody answers.
public enum DecisionDefault: String, Word {
    /// The task waits for an answer until its time for the resource is over.
    case wait
    case follow, allow, `continue`
}

extension DecisionKind {
    public var `default`: DecisionDefault {
        switch self {
        case .challenge, .cache: .wait
        case .redirect: .follow
        case .response: .allow
        case .begin: .continue
        }
    }
}

extension DecisionDefault {
    /// How long an answer is waited for; nil without end.
    public var patience: Seconds? {
        switch self {
        case .wait: nil
        case .follow, .allow, .continue: Seconds(60)
        }
    }
}

/// How a server, or a proxy, wants to be given credentials (RFC 7617, RFC 7616).
public enum AuthenticationMethod: String, Word {
    case httpBasic, httpDigest
}

/// Whom credentials are for (RFC 9110 section 11.5).
public struct ProtectionSpace: Hashable, Sendable, Codable {
    public var host: String
    public var port: Int
    /// Scheme of the URL, or of the proxy's.
    public var `protocol`: String
    /// As the server gives it, shortened, without control characters: it says what it likes.
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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case host, port, `protocol`, realm, method, isProxy
    }

    /// Scheme, name and port, as `https://example.org:443`: what a credential is bound to.
    public var origin: String { "\(`protocol`)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

/// How long a credential is kept.
public enum CredentialPersistence: String, Word {
    /// For this task alone.
    case none
    case session, permanent
}

/// A user name and a password that a client gives in an answer.
public struct DecisionCredential: Hashable, Sendable, Codable {
    public var username: String
    public var password: String
    public var persistence: CredentialPersistence?

    public init(username: String, password: String, persistence: CredentialPersistence? = nil) {
        self.username = username
        self.password = password
        self.persistence = persistence
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case username, password, persistence
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        username = try fields.required(.username)
        password = try fields.required(.password)
        persistence = try fields.value(.persistence)
    }
}

/// What a question tells; holds no secrets.
public struct Question: Hashable, Sendable, Codable {
    public var kind: DecisionKind
    public var `default`: DecisionDefault
    /// When the default is taken, by the wall clock as it was when the question was asked.
    public var deadline: Timestamp?
    public var protectionSpace: ProtectionSpace?
    /// Credentials for this space that were refused.
    public var previousFailureCount: Int?
    /// User name that was refused last.
    public var proposedUser: String?
    /// Its head, masked as events are.
    public var response: ResponseInfo?
    /// The request that is proposed, masked as events are.
    public var request: TaskRequest?

    public init(_ kind: DecisionKind, default: DecisionDefault? = nil) {
        self.kind = kind
        self.default = `default` ?? kind.default
    }

    /// What may be answered.
    public var actions: [DecisionAction] {
        switch kind {
        case .challenge: [.useCredential, .performDefaultHandling, .rejectProtectionSpace, .cancel]
        case .redirect: [.follow, .followWith, .refuse]
        case .response: [.allow, .cancel, .becomeDownload]
        case .begin: [.continue, .newRequest, .cancel]
        case .cache: []
        }
    }
}

/// A stored question. Holds secrets; never leaves the daemon.
public struct DecisionRecord: Hashable, Sendable {
    public enum State: String, Word {
        case open, answered
        /// The task went another way.
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
    /// The task waits for a client's answer.
    public var awaitsAnswer: Bool { state == .waiting && (reason == .authentication || reason == .decision) }
}
