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
        case .protectionSpace: .required(.object(CredentialSpace.self), "What it is for.")
        case .username: .required(.string, "User name.")
        case .persistence: .required(.oneOf(CredentialPersistence.self), "`session` or `permanent`.")
        case .isDefault: .required(.boolean, "It is sent where nobody is asked.")
        case .isRefused:
            .required(.boolean, "The server or proxy has refused it: it is not sent unasked, until it is stored anew.")
        }
    }
}

extension CredentialSpace: WireObject {
    public static let wireName = "CredentialSpace"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .host: .required(.string, "Host name or address.")
        case .port: .optional(.integer, "Its port; default: that of `protocol`.")
        case .protocol: .optional(.choice(["http", "https"]), "Scheme of the URL, or of the proxy's; `https`.")
        case .realm: .optional(.string, "As the server or proxy calls it; default: every realm.")
        case .method:
            .optional(
                .choice([AuthenticationMethod.httpBasic, .httpDigest, .ntlm].map(\.rawValue)),
                "How it may be sent; default: in each of these ways.")
        case .isProxy: .optional(.boolean, "It is for a proxy; false.")
        }
    }
}
