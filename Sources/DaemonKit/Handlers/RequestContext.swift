import TransferModel
import TransferRPC

/// One request's circumstances: who asks, on which connection, and what is to happen after the answer.
struct RequestContext: Sendable {
    let peer: Peer
    let connection: any EventSink
    /// Open connections of all clients.
    let connections: Int

    /// Whose objects the peer means.
    /// - Throws: `permission.denied` if it names others and is not an administrator.
    func scope(_ asked: OwnerScope?) throws(TransferError) -> OwnerScope {
        guard let asked else { return .user(peer.uid) }
        guard peer.isAdmin || asked == .user(peer.uid) else {
            throw TransferError(
                .permissionDenied, "owner: only administrators see what belongs to others.",
                details: ["field": "owner"])
        }
        return asked
    }

    /// The one owner the peer means.
    /// - Throws: `permission.denied` if it names another and is not an administrator.
    func owner(_ asked: UserID?) throws(TransferError) -> UserID {
        _ = try scope(asked.map { .user($0) })
        return asked ?? peer.uid
    }
}

/// A method's result, and what is to happen once the client has it.
struct Reply<Value: Sendable>: Sendable {
    var value: Value
    var afterwards: (@Sendable () -> Void)?

    init(_ value: Value, afterwards: (@Sendable () -> Void)? = nil) {
        self.value = value
        self.afterwards = afterwards
    }
}
