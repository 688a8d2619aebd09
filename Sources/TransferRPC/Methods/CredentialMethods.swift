import TransferModel

/// The credentials of the asking user.
public enum ListCredentials: RPCMethod {
    public static let name = "credentials.list"
    public static let summary =
        """
        The caller's own credentials, in the order in which they were stored. Passwords are never returned.
        """
    public static let errors: [ErrorCode] = [.badField, .sessionNotFound, .sessionInUse]

    public struct Parameters: WireObject, Hashable {
        public var session: String?

        public init(session: String? = nil) { self.session = session }

        public static let shape = Shape("ListCredentials", Self()) { row in
            row("session", \.session, CredentialText.session)
        }
    }

    public struct Result: WireObject, Hashable {
        public var credentials: [CredentialView]

        public init(credentials: [CredentialView]) { self.credentials = credentials }

        public static let shape = Shape("Credentials", Self(credentials: [])) { row in
            row("credentials", \.credentials, "The credentials, including those that were refused.")
        }
    }
}

/// Stores a credential of the asking user.
public enum SetCredential: RPCMethod {
    public static let name = "credentials.set"
    public static let summary =
        """
        Stores a credential of the caller. It replaces the one with the same protection space and user name, and no longer \
        counts as refused. Tasks that ask no client use the default credential of a protection space. Durable when it \
        returns, unless it is kept in memory only. If the store fails, the credential is in force, and is stored when the \
        disk works again.
        """
    public static let errors: [ErrorCode] = [
        .badField, .sessionNotFound, .sessionInUse, .limitReached, .diskFull, .diskIO,
    ]

    public struct Parameters: WireObject, Hashable {
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
            row("session", \.session, CredentialText.session)
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

    public struct Result: WireObject, Hashable {
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
}

/// Removes credentials of the asking user.
public enum RemoveCredentials: RPCMethod {
    public static let name = "credentials.remove"
    public static let summary =
        """
        Removes the caller's credentials that match every given realm, method and user name. Durable when it returns. A \
        running task continues with the credential that it has already sent.
        """
    public static let errors: [ErrorCode] = [.badField, .sessionNotFound, .sessionInUse, .diskFull, .diskIO]

    public struct Parameters: WireObject, Hashable {
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
            row("session", \.session, CredentialText.session)
            row("protectionSpace", \.protectionSpace, "The server or proxy that they are for.")
            row("username", \.username, "Only credentials with this user name.")
        }
    }

    public struct Result: WireObject, Hashable {
        public var removed: Int

        public init(removed: Int) { self.removed = removed }

        public static let shape = Shape("RemovedCredentials", Self(removed: 0)) { row in
            row("removed", \.removed, "Number of removed credentials.")
        }
    }
}

enum CredentialText {
    static let session =
        "The session that has the credentials. Default: the user's own credentials, which all tasks use except those of `ephemeral` sessions."
}
