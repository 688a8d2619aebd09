import TransferModel

/// The owner whose objects a request is about, named by root or an administrator: a user id, or `"*"` for all.
public enum OwnerScope: Hashable, Sendable, Codable {
    case user(UserID)
    case everyone

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let uid = try? container.decode(UInt32.self) {
            self = .user(UserID(uid))
        } else if (try? container.decode(String.self)) == "*" {
            self = .everyone
        } else {
            let path = fieldPath(decoder.codingPath)
            throw TransferError.bad(path, "give a user id or \"*\".")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .user(let uid): try container.encode(uid)
        case .everyone: try container.encode("*")
        }
    }

    static let wireType = WireType.either([.userID, .choice(["*"])])
    static let field = Field.optional(
        wireType, "The user whose objects are meant, for administrators only; default: the peer.")
}
