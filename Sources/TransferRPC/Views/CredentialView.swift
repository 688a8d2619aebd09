import TransferModel

/// A credential as its owner sees it.
public struct CredentialView: WireObject, Hashable {
    public var protectionSpace: CredentialSpace
    public var username: String
    public var persistence: CredentialPersistence
    public var isDefault: Bool
    public var isRefused: Bool

    public init(_ credential: StoredCredential) {
        protectionSpace = credential.space
        username = credential.username
        persistence = credential.persistence
        isDefault = credential.isDefault
        isRefused = credential.isRefused
    }

    public static let shape = Shape(
        "ListedCredential",
        Self(
            StoredCredential(
                space: CredentialSpace(host: "", port: 0, protocol: "https"), username: "", password: "",
                persistence: .session))
    ) { row in
        row("protectionSpace", \.protectionSpace, "The server or proxy that it is for.")
        row("username", \.username, "User name.")
        row("persistence", \.persistence, "`session` or `permanent`.")
        row("isDefault", \.isDefault, "True: the default credential of its protection space.")
        row(
            "isRefused", \.isRefused,
            "True: the server or proxy has refused it. It is not sent again until it is stored again.")
    }
}
