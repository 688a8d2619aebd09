import TransferModel

/// An open question as clients see it.
public struct DecisionView: Hashable, Sendable {
    public var decision: DecisionID
    public var task: TaskID
    public var session: String
    public var owner: UserID
    public var time: Timestamp
    public var question: Question

    public init(_ record: DecisionRecord) {
        decision = record.id
        task = record.task
        session = record.session.identifier
        owner = record.session.owner
        time = record.askedAt
        question = record.question
    }
}

extension DecisionView: WireObject {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case decision, task, session, owner, time
        case kind, `default`, deadline, protectionSpace, previousFailureCount, proposedUser, response, request
        case certificates, key, reason, keyChanged, distinguishedNames, actions
    }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        decision = try fields.decode(DecisionID.self, forKey: .decision)
        task = try fields.decode(TaskID.self, forKey: .task)
        session = try fields.decode(String.self, forKey: .session)
        owner = try fields.decode(UserID.self, forKey: .owner)
        time = try fields.decode(Timestamp.self, forKey: .time)
        question = try Question(from: decoder)
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(decision, forKey: .decision)
        try fields.encode(task, forKey: .task)
        try fields.encode(session, forKey: .session)
        try fields.encode(owner, forKey: .owner)
        try fields.encode(time, forKey: .time)
        try fields.encode(question.kind, forKey: .kind)
        try fields.encode(question.default, forKey: .default)
        try fields.encodeIfPresent(question.deadline, forKey: .deadline)
        try fields.encodeIfPresent(question.protectionSpace, forKey: .protectionSpace)
        try fields.encodeIfPresent(question.previousFailureCount, forKey: .previousFailureCount)
        try fields.encodeIfPresent(question.proposedUser, forKey: .proposedUser)
        try fields.encodeIfPresent(question.response, forKey: .response)
        try fields.encodeIfPresent(question.request, forKey: .request)
        try fields.encodeIfPresent(question.certificates, forKey: .certificates)
        try fields.encodeIfPresent(question.key, forKey: .key)
        try fields.encodeIfPresent(question.reason, forKey: .reason)
        try fields.encodeIfPresent(question.keyChanged, forKey: .keyChanged)
        try fields.encodeIfPresent(question.distinguishedNames, forKey: .distinguishedNames)
        try fields.encode(question.actions, forKey: .actions)
    }

    public static let wireName = "Decision"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .decision:
            .required(
                .integer, "Id of the question, for `decision.answer`; it stays the same across restarts of the daemon.")
        case .task: .required(.taskID, "The task that asks.")
        case .session: .required(.string, "Identifier of its session.")
        case .owner: .required(.userID, "Owner of the session.")
        case .time: .required(.time, "When it was asked.")
        case .kind: .required(.oneOf(DecisionKind.self), "What it is about.")
        case .default:
            .required(
                .oneOf(DecisionDefault.self),
                "What happens if nobody answers. `wait`: the task waits until its `timeoutIntervalForResource` has passed, then fails with `deadline.exceeded`. `reject`: the same, but it fails with `tls.untrusted`. Otherwise the action of this name is taken at `deadline`. With `cache` it is what the daemon proposes: `store`, or `memoryOnly` if the answer is not to reach a disk."
            )
        case .deadline:
            .optional(
                .time,
                "When the default is taken: 60 s after the question, on the boot clock. Absent with `wait` and `reject`."
            )
        case .protectionSpace:
            .optional(
                .object(ProtectionSpace.self), "`challenge`: the server or proxy that the question is about.")
        case .previousFailureCount:
            .optional(
                .integer,
                "`challenge`: credentials that this server or proxy has refused. After \(Bounds.credentialFailures) nobody is asked again: the task fails with `auth.required`, or with `acceptsAnyStatus` the refusal is its answer."
            )
        case .proposedUser:
            .optional(
                .string, "`challenge`: the user name that was refused last, or that of the stored credential.")
        case .response:
            .optional(
                .object(ResponseInfo.self),
                "`challenge`, `redirect`, `response`, `cache`: the header of the answer that the question is about, masked as in events."
            )
        case .request:
            .optional(
                .object(TaskRequest.self),
                "`redirect`: the request that would follow. `begin`: the task's own. Masked as in events. Members that an answer leaves out keep their unmasked values."
            )
        case .certificates:
            .optional(
                .list(.string),
                "`serverTrust`: the certificates that the server showed, its own first, as DER in Base64, up to 32 KiB."
            )
        case .key:
            .optional(
                .string,
                "`serverTrust`: its public key, which `trust` trusts: `sha256//` and the SHA-256 of the SubjectPublicKeyInfo in Base64, in the form of CURLOPT_PINNEDPUBLICKEY(3)."
            )
        case .reason:
            .optional(
                .string,
                "`serverTrust`: why the certificate is not trusted, in the verifier's words. `negotiate`, and after it another method: why Kerberos was no help, in its words."
            )
        case .keyChanged:
            .optional(.boolean, "`serverTrust`: true if a client trusts another key of this server.")
        case .distinguishedNames:
            .optional(
                .list(.string),
                "`clientCertificate`: names of the authorities whose certificates the server accepts, as DER in Base64, up to 32 KiB. A server may name none."
            )
        case .actions:
            .required(
                .list(.oneOf(DecisionAction.self)),
                "Actions that `decision.answer` accepts. For another user's task, those that administrators may take; `becomeDownload` only for data tasks."
            )
        }
    }
}

extension TaskRequest: WireObject {
    public static let wireName = "Request"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .url: .optional(.string, "Its URL, http or https. Default in answers: the proposed one.")
        case .method: .optional(.string, "Its method. Default in answers: the proposed one.")
        case .headers:
            .optional(
                .list(.list(.string)),
                "Its header fields as [name, value]. In answers they replace the proposed ones; if `url` leads to another origin, only fields that may go there are proposed."
            )
        case .body:
            .optional(
                .object(RequestBody.self),
                "In answers `text` or `base64`; default: the proposed body, or none with `method` GET or HEAD. Questions do not show it; `currentRequest` does, up to 1 MiB, else its `size`."
            )
        }
    }
}

extension ProtectionSpace: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .host: .required(.string, "Host name or address, lower case.")
        case .port: .required(.integer, "Its port.")
        case .protocol: .required(.choice(["http", "https"]), "Scheme of the URL, or of the proxy's.")
        case .realm:
            .optional(
                .string,
                "The name that the server gives it: up to \(Bounds.realm) characters, without control characters. A server may claim any name."
            )
        case .method:
            .required(
                .oneOf(AuthenticationMethod.self),
                "How the credentials are sent: of the methods that the server offers, the first of `negotiate` (Kerberos, if the daemon's machine has a realm or nothing else is offered), `httpDigest`, `ntlm` and `httpBasic`. `serverTrust`: a TLS server's certificate is not trusted. `clientCertificate`: a TLS server wants a client certificate."
            )
        case .isProxy: .required(.boolean, "True: a proxy asks (407).")
        }
    }
}

extension DecisionCredential: WireObject {
    public static let wireName = "Credential"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .username: .optional(.string, "User name; required with a password, unless a certificate is wanted.")
        case .password: .optional(.string, "Password, or pass phrase of the key; never shown.")
        case .certificate:
            .optional(
                .string,
                "`clientCertificate`: absolute path of a PEM certificate (chain), read with the owner's rights.")
        case .key: .optional(.string, "Path of its PEM key, if the key is in another file.")
        case .persistence:
            .optional(
                .oneOf(CredentialPersistence.self),
                "How long it is kept. `none` (default): this task uses it for this scheme, host and port. `session`: once it has worked, all tasks of the session use it for this protection space, until the session ends. `permanent`: like `session`, and the owner's store keeps it (in an `ephemeral` session the same as `session`). A refused credential is not sent again."
            )
        }
    }
}
