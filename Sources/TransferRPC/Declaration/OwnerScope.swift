import TransferModel

/// The owner whose objects a request is about, named by root or an administrator: a user id, or `"*"` for all.
public enum OwnerScope: WireValue, Hashable {
    case user(UserID)
    case everyone

    public static let wireType = WireType.either([.userID, .choice(["*"])])

    public init(json node: JSONNode) throws(TransferError) {
        if node.stringIfAny == "*" {
            self = .everyone
        } else if let uid = node.integerIfAny(UInt32.self) {
            self = .user(UserID(uid))
        } else {
            throw node.refusal("give a user id or \"*\".")
        }
    }

    public func write(to text: inout JSONWriter) {
        switch self {
        case .user(let uid): uid.write(to: &text)
        case .everyone: text.string("*")
        }
    }
}

extension Rows {
    /// The member `owner` of requests about several users' objects.
    mutating func owner(_ path: WritableKeyPath<Root, OwnerScope?> & Sendable) {
        self("owner", path, "The user whose objects are meant, for administrators only; default: the peer.")
    }
}
