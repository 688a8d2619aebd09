/// A request that replaces the task's own. In an answer, absent members stay as proposed.
public struct TaskRequest: Hashable, Sendable {
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
}

extension TaskRequest: WireObject {
    public static let shape = Shape("Request", Self()) { row in
        row("url", \.url, "Its URL, http or https. Default in answers: the proposed one.")
        row("method", \.method, "Its method. Default in answers: the proposed one.")
        row(
            "headers", \.headers,
            "Its header fields as [name, value]. In answers they replace the proposed ones; if `url` leads to another origin, only fields that may go there are proposed.",
            as: .list(.list(.string)))
        row(
            "body", \.body,
            "In answers `text` or `base64`; default: the proposed body, or none with `method` GET or HEAD. Questions do not show it; `currentRequest` does, up to 1 MiB, else its `size`."
        )
    }
}

/// The request that a task makes from now on: the target of a redirect, or the request that a client gave instead.
/// Holds secrets.
public struct StandingRequest: Hashable, Sendable {
    public var request: TaskRequest
    /// It sends the body of the task's own request.
    public var sendsOwnBody: Bool
    /// It goes to another origin than the task's own: it carries none of the task's credentials.
    public var isForeign: Bool
    /// A redirect on the way led from one site to another (RFC 6265bis section 5.2).
    public var crossedSites: Bool
    /// Redirects that led here.
    public var redirects: Int
    /// The previous request may be made once more, and must be for the whole of its answer.
    public var mayStepBack: Bool
    /// Its answer would not prove that the upload's body arrived: unchanged, it is not followed.
    public var losesUpload: Bool?

    public init(
        _ request: TaskRequest, sendsOwnBody: Bool = true, isForeign: Bool = false, crossedSites: Bool = false,
        redirects: Int = 0, mayStepBack: Bool = true, losesUpload: Bool? = nil
    ) {
        self.request = request
        self.sendsOwnBody = sendsOwnBody
        self.isForeign = isForeign
        self.crossedSites = crossedSites
        self.redirects = redirects
        self.mayStepBack = mayStepBack
        self.losesUpload = losesUpload
    }
}

extension StandingRequest: WireObject {
    public static let shape = Shape("StandingRequest", Self(TaskRequest())) { row in
        row("request", \.request)
        row("sendsOwnBody", \.sendsOwnBody)
        row("isForeign", \.isForeign)
        row("crossedSites", \.crossedSites)
        row("redirects", \.redirects)
        row("mayStepBack", \.mayStepBack)
        row("losesUpload", \.losesUpload)
    }
}

/// What a client decided. Holds secrets; never leaves the daemon.
public struct DecisionAnswer: Hashable, Sendable {
    public var action: DecisionAction
    public var credential: DecisionCredential?
    /// How long a key is trusted.
    public var persistence: CredentialPersistence?
    public var request: TaskRequest?
    public var destination: Destination?
    /// Replaces secrets that are forgotten: tells this answer from others.
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

extension DecisionAnswer: WireObject {
    public static let shape = Shape("DecisionAnswer", Self(.cancel)) { row in
        row("action", \.action)
        row("credential", \.credential)
        row("persistence", \.persistence)
        row("request", \.request)
        row("destination", \.destination)
        row("mark", \.mark)
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

/// Where credentials come from if no client gave them for this task.
public enum CredentialSource: String, Word {
    /// The store of the user or session: credentials are looked up for each attempt, so none are stored with the task.
    case store
    /// The program of `credentialHelper`.
    case helper
    /// The task's own user name and password, sent by a method that is used only if the server asks for it.
    case task
    /// The Kerberos tickets of the daemon's user; there is no user name and no password.
    case ticket
}

/// What the questions of a task have settled so far. Holds secrets; never leaves the daemon.
public struct SettledDecisions: Hashable, Sendable {
    /// What was answered for one server or proxy.
    public struct Space: WireObject, Hashable {
        public var origin: String
        public var isProxy: Bool
        public var failures = 0
        /// Refused credentials are forgotten, so none is sent again without an answer.
        public var username: String?
        public var password: String?
        /// How they are sent, if by NTLM.
        public var method: AuthenticationMethod?
        /// The challenge that they were given for.
        public var demand: ProtectionSpace?
        /// How long they are kept beyond the task, once they have worked.
        public var persistence: CredentialPersistence?
        /// When a client gave them, in milliseconds of the boot clock.
        public var answeredAt: Int64?
        /// Where they come from, if no client gave them for this task.
        public var source: CredentialSource?
        /// What the helper gave with them, in the words of git's protocol: when they expire, for example.
        public var attributes: [String: String]?
        /// They are for one realm of this server. After a redirect within the server, they are sent only to `urls`.
        public var isOfRealm: Bool?
        /// The URLs whose challenges named that realm.
        public var urls: [String]?
        /// The server refused the task's own credentials: user name (also one in a URL), token or netrc file. None of
        /// these is sent there again.
        public var refusesOwn: Bool?
        /// The trusted keys of this server, in the form of `TrustedKey`.
        public var key: String?
        /// The client trusts no key of this server.
        public var declinesTrust: Bool?
        /// The certificate that this server is shown.
        public var certificate: ClientCertificate?
        /// The client shows this server no certificate.
        public var declinesCertificate: Bool?
        /// Kerberos has failed here, so another method is used if the server offers one.
        public var declinesNegotiate: Bool?
        /// The tickets of the daemon's user did not work here.
        public var declinesTickets: Bool?

        public init(origin: String, isProxy: Bool) {
            self.origin = origin
            self.isProxy = isProxy
        }

        public static let shape = Shape("Space", Self(origin: "", isProxy: false)) { row in
            row("origin", \.origin)
            row("isProxy", \.isProxy)
            row("failures", \.failures, isRequired: false)
            row("username", \.username)
            row("password", \.password)
            row("method", \.method)
            row("demand", \.demand)
            row("persistence", \.persistence)
            row("answeredAt", \.answeredAt)
            row("source", \.source)
            row("attributes", \.attributes)
            row("isOfRealm", \.isOfRealm)
            row("urls", \.urls)
            row("refusesOwn", \.refusesOwn)
            row("key", \.key)
            row("declinesTrust", \.declinesTrust)
            row("certificate", \.certificate)
            row("declinesCertificate", \.declinesCertificate)
            row("declinesNegotiate", \.declinesNegotiate)
            row("declinesTickets", \.declinesTickets)
        }
    }

    /// Questions asked.
    public var asked = 0
    /// When the last one was asked, in milliseconds of the boot clock.
    public var askedAt: Int64?
    public var spaces: [Space] = []
    /// The client wants no further question about challenges.
    public var declinesChallenges = false
    /// No credentials are sent except the task's own: the server's refusal is the answer.
    public var declinesCredentials: Bool?
    /// Replaces the task's own request; nil if that stands.
    public var standing: StandingRequest?
    /// The standing request that the open question proposes.
    public var proposed: StandingRequest?
    /// The answer to the standing request is a redirect that was refused: its status.
    public var refusedStatus: Int?
    /// The refused redirect is the whole answer: the request is not made again.
    public var isAnswered: Bool?
    /// Its body, for an attempt; stored elsewhere.
    public var refusedBody: [UInt8]?
    /// What identifies the answer that the open question, or the last one, is about.
    public var responded: String?
    /// The answer with this mark is wanted.
    public var allowed: String?
    /// Any answer becomes a file.
    public var allowsAny: Bool?
    /// Where the answer of `responded` is stored, as decided.
    public var stored: DecisionAction?
    /// The client has been asked whether the task may begin.
    public var hasBegun: Bool?

    public init() {}
}

extension SettledDecisions: WireObject {
    public static let shape = Shape("SettledDecisions", Self()) { row in
        row("asked", \.asked, isRequired: false)
        row("askedAt", \.askedAt)
        row("spaces", \.spaces, isRequired: false)
        row("declinesChallenges", \.declinesChallenges, isRequired: false)
        row("declinesCredentials", \.declinesCredentials)
        row("standing", \.standing)
        row("proposed", \.proposed)
        row("refusedStatus", \.refusedStatus)
        row("isAnswered", \.isAnswered)
        row("refusedBody", \.refusedBody)
        row("responded", \.responded)
        row("allowed", \.allowed)
        row("allowsAny", \.allowsAny)
        row("stored", \.stored)
        row("hasBegun", \.hasBegun)
    }
}
