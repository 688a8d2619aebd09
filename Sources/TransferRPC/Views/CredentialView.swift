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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case protectionSpace, username, persistence, isDefault, isRefused
    }

    public static let wireName = "ListedCredential"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .protectionSpace: .required(.object(CredentialSpace.self), "The server or proxy that it is for.")
        case .username: .required(.string, "User name.")
        case .persistence: .required(.oneOf(CredentialPersistence.self), "`session` or `permanent`.")
        case .isDefault: .required(.boolean, "True: the default credential of its protection space.")
        case .isRefused:
            .required(
                .boolean, "True: the server or proxy has refused it. It is not sent again until it is stored again.")
        }
    }
}

extension CredentialSpace: WireObject {
    public static let wireName = "CredentialSpace"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .host: .required(.string, "Host name or address.")
        case .port: .optional(.integer, "Its port; default: that of `protocol`.")
        case .protocol:
            .optional(.choice(["http", "https"]), "Scheme of the URL, or of the proxy's URL; default: `https`.")
        case .realm: .optional(.string, "The realm that the server or proxy names; default: every realm.")
        case .method:
            .optional(
                .choice([AuthenticationMethod.httpBasic, .httpDigest, .ntlm, .negotiate].map(\.rawValue)),
                "The method by which it may be sent; default: every method.")
        case .isProxy: .optional(.boolean, "True: it is for a proxy; default: false.")
        }
    }
}
