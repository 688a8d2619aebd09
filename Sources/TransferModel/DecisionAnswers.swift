/// A request in place of the task's own. In an answer, what is absent stays as it was proposed.
public struct TaskRequest: Hashable, Sendable, Codable {
    public var url: String?
    public var method: String?
    public var headers: [HeaderField]?
    /// Only in answers: text or base64.
    public var body: RequestBody?

    public init(url: String? = nil, method: String? = nil, headers: [HeaderField]? = nil, body: RequestBody? = nil) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case url, method, headers, body
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        url = try fields.value(.url)
        method = try fields.value(.method)
        headers = try fields.value(.headers)
        body = try fields.value(.body)
    }
}

/// The request that a task makes from here on: where a redirect led, or what a client wants in its stead. Holds secrets.
public struct StandingRequest: Hashable, Sendable, Codable {
    public var request: TaskRequest
    /// The body of the task's own request goes along.
    public var sendsOwnBody: Bool
    /// Of another origin than the task's own: nothing of the task's credentials goes along.
    public var isForeign: Bool
    /// A redirect on the way led from one site to another (RFC 6265bis section 5.2).
    public var crossedSites: Bool
    /// Redirects that led here.
    public var redirects: Int
    /// The request before it may be made once more.
    public var mayStepBack: Bool

    public init(
        _ request: TaskRequest, sendsOwnBody: Bool = true, isForeign: Bool = false, crossedSites: Bool = false,
        redirects: Int = 0, mayStepBack: Bool = true
    ) {
        self.request = request
        self.sendsOwnBody = sendsOwnBody
        self.isForeign = isForeign
        self.crossedSites = crossedSites
        self.redirects = redirects
        self.mayStepBack = mayStepBack
    }
}

/// What a client decided. Holds secrets; never leaves the daemon.
public struct DecisionAnswer: Hashable, Sendable, Codable {
    public var action: DecisionAction
    public var credential: DecisionCredential?
    /// How long a key is trusted.
    public var persistence: CredentialPersistence?
    public var request: TaskRequest?
    public var destination: Destination?
    /// In place of secrets that are forgotten: what tells this answer from others.
    public var mark: String?

    public init(
        _ action: DecisionAction, credential: DecisionCredential? = nil, persistence: CredentialPersistence? = nil,
        request: TaskRequest? = nil, destination: Destination? = nil
    ) {
        self.action = action
        self.credential = credential
        self.persistence = persistence
        self.request = request
        self.destination = destination
    }
}

extension DecisionAnswer {
    /// Without a password and a request, which may hold secrets.
    public var withoutSecrets: DecisionAnswer {
        var answer = self
        answer.credential?.password = nil
        answer.request = nil
        return answer
    }
}

/// Where credentials are from that no client gave for the task at hand.
public enum CredentialSource: String, Word {
    /// What the user or the session has: looked up for each attempt, so nothing of it is stored with the task.
    case store
    /// The program of `credentialHelper`.
    case helper
}

/// What the questions of a task have settled so far. Holds secrets; never leaves the daemon.
public struct SettledDecisions: Hashable, Sendable, Codable {
    /// What was answered for one server or proxy.
    public struct Space: Hashable, Sendable, Codable {
        public var origin: String
        public var isProxy: Bool
        public var failures = 0
        /// Refused ones are forgotten: none is sent again unasked.
        public var username: String?
        public var password: String?
        /// How they are sent, if by NTLM.
        public var method: AuthenticationMethod?
        /// What they were given for.
        public var demand: ProtectionSpace?
        /// How long they are kept once they have worked, beyond the task.
        public var persistence: CredentialPersistence?
        /// Where they are from, if no client gave them for this task.
        public var source: CredentialSource?
        /// The keys that are trusted there, as `TrustedKey` has them.
        public var key: String?
        /// The client trusts no key there.
        public var declinesTrust: Bool?
        /// What is shown there.
        public var certificate: ClientCertificate?
        /// The client shows no certificate there.
        public var declinesCertificate: Bool?

        public init(origin: String, isProxy: Bool) {
            self.origin = origin
            self.isProxy = isProxy
        }
    }

    /// Questions asked.
    public var asked = 0
    /// When the last one was asked, in milliseconds of the boot clock.
    public var askedAt: Int64?
    public var spaces: [Space] = []
    /// The client wants to hear of no further challenge.
    public var declinesChallenges = false
    /// No credentials are sent but the task's own: the server's refusal is its answer.
    public var declinesCredentials: Bool?
    /// In place of the task's own request; nil if that stands.
    public var standing: StandingRequest?
    /// What the open question proposes to make of it.
    public var proposed: StandingRequest?
    /// A redirect is the answer to the request that stands: the status of the one that was refused.
    public var refusedStatus: Int?
    /// The refused redirect is all of the answer: the request must not be made again.
    public var isAnswered: Bool?
    /// What identifies the answer that the open question, or the last one, is about.
    public var responded: String?
    /// Such an answer is wanted.
    public var allowed: String?
    /// Whatever the answer is, it becomes a file.
    public var allowsAny: Bool?
    /// The client has been asked whether the task may begin.
    public var hasBegun: Bool?

    public init() {}
}
