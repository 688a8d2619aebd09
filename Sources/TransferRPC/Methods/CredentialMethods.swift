import TransferModel

/// The credentials of the asking user.
public enum ListCredentials: RPCMethod {
    public static let name = "credentials.list"
    public static let summary =
        """
        The asking user's credentials in the order in which they were stored; nobody sees another's. No password is ever told.
        """
    public static let errors: [ErrorCode] = [.badField, .sessionNotFound, .sessionInUse]

    public struct Parameters: WireObject, Hashable {
        public var session: String?

        public init(session: String? = nil) { self.session = session }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case session
        }

        public static let wireName = "ListCredentials"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .session: .optional(.string, CredentialText.session)
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var credentials: [CredentialView]

        public init(credentials: [CredentialView]) { self.credentials = credentials }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case credentials
        }

        public static let wireName = "Credentials"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .credentials: .required(.list(.object(CredentialView.self)), "Those that were refused too.")
            }
        }
    }
}

/// Stores a credential of the asking user.
public enum SetCredential: RPCMethod {
    public static let name = "credentials.set"
    public static let summary =
        """
        Stores a credential of the asking user, in place of the one of its protection space and user name; it has not been \
        refused then. Tasks whose clients are not asked use it if it is the default of the protection space. Durable when it \
        returns. If the store fails, it is in force and is stored with the next change.
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case session, protectionSpace, credential, isDefault
        }

        public static let wireName = "SetCredential"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .session: .optional(.string, CredentialText.session)
            case .protectionSpace: .required(.object(CredentialSpace.self), "What it is for.")
            case .credential:
                .required(
                    .object(DecisionCredential.self),
                    "`username`, `password`, and `persistence`: `permanent` (default), or `session`: until the daemon ends, or with `session` (default there) until that is over."
                )
            case .isDefault:
                .optional(
                    .boolean,
                    "Whether it is sent where nobody is asked; default: yes, unless the protection space has another default that was not refused."
                )
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var credential: CredentialView

        public init(credential: CredentialView) { self.credential = credential }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case credential
        }

        public static let wireName = "SetCredentialResult"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .credential: .required(.object(CredentialView.self), "As it is stored.")
            }
        }
    }
}

/// Removes credentials of the asking user.
public enum RemoveCredentials: RPCMethod {
    public static let name = "credentials.remove"
    public static let summary =
        """
        Removes credentials of the asking user; a realm, method or user name that is not given is every one. Durable when it \
        returns. What a running task has sent already it goes on with.
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case session, protectionSpace, username
        }

        public static let wireName = "RemoveCredentials"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .session: .optional(.string, CredentialText.session)
            case .protectionSpace: .required(.object(CredentialSpace.self), "What they are for.")
            case .username: .optional(.string, "Of this user name.")
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var removed: Int

        public init(removed: Int) { self.removed = removed }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case removed
        }

        public static let wireName = "RemovedCredentials"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .removed: .required(.integer, "How many there were.")
            }
        }
    }
}

enum CredentialText {
    static let session =
        "Those of this session alone; default: the user's own, which all tasks but those of `ephemeral` sessions use."
}
