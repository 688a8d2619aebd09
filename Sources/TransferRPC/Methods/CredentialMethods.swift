import TransferModel

/// The parameters of `credentials.list`.
public struct ListCredentials: WireObject, Hashable {
    public var session: String?

    public init(session: String? = nil) { self.session = session }

    public static let shape = Shape("ListCredentials", Self()) { row in
        row("session", \.session, sessionOfCredentials)
    }
}

public struct ListedCredentials: WireObject, Hashable {
    public var credentials: [CredentialView]

    public init(credentials: [CredentialView]) { self.credentials = credentials }

    public static let shape = Shape("Credentials", Self(credentials: [])) { row in
        row("credentials", \.credentials, "The credentials, including those that were refused.")
    }
}

public struct SetCredential: WireObject, Hashable {
    public var session: String?
    public var protectionSpace: CredentialSpace
    public var credential: DecisionCredential
    public var isDefault: Bool?

    public init(
        session: String? = nil, protectionSpace: CredentialSpace, credential: DecisionCredential,
        isDefault: Bool? = nil
    ) {
        self.session = session
        self.protectionSpace = protectionSpace
        self.credential = credential
        self.isDefault = isDefault
    }

    public static let shape = Shape(
        "SetCredential",
        Self(
            protectionSpace: CredentialSpace(host: "", port: 0, protocol: "https"),
            credential: DecisionCredential(username: "", password: ""))
    ) { row in
        row("session", \.session, sessionOfCredentials)
        row("protectionSpace", \.protectionSpace, "The server or proxy that it is for.")
        row(
            "credential", \.credential,
            "`username`, `password` and `persistence`. `permanent` (default) stores it. `session` keeps it until the daemon ends or, with the parameter `session`, until that session ends; there it is the default."
        )
        row(
            "isDefault", \.isDefault,
            "True: the default credential of its protection space. Default: true, unless the protection space has another default credential that was not refused."
        )
    }
}

public struct SetCredentialResult: WireObject, Hashable {
    public var credential: CredentialView

    public init(credential: CredentialView) { self.credential = credential }

    public static let shape = Shape(
        "SetCredentialResult",
        Self(
            credential: CredentialView(
                StoredCredential(
                    space: CredentialSpace(host: "", port: 0, protocol: "https"), username: "", password: "",
                    persistence: .session)))
    ) { row in
        row("credential", \.credential, "As it is stored.")
    }
}

public struct RemoveCredentials: WireObject, Hashable {
    public var session: String?
    public var protectionSpace: CredentialSpace
    public var username: String?

    public init(session: String? = nil, protectionSpace: CredentialSpace, username: String? = nil) {
        self.session = session
        self.protectionSpace = protectionSpace
        self.username = username
    }

    public static let shape = Shape(
        "RemoveCredentials", Self(protectionSpace: CredentialSpace(host: "", port: 0, protocol: "https"))
    ) { row in
        row("session", \.session, sessionOfCredentials)
        row("protectionSpace", \.protectionSpace, "The server or proxy that they are for.")
        row("username", \.username, "Only credentials with this user name.")
    }
}

public struct RemovedCredentials: WireObject, Hashable {
    public var removed: Int

    public init(removed: Int) { self.removed = removed }

    public static let shape = Shape("RemovedCredentials", Self(removed: 0)) { row in
        row("removed", \.removed, "Number of removed credentials.")
    }
}

private let sessionOfCredentials =
    "The session that has the credentials. Default: the user's own credentials, which all tasks use except those of `ephemeral` sessions."
