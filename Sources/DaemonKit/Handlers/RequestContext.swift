import TransferModel
import TransferRPC

/// The circumstances of one request: its peer and its connection.
struct RequestContext: Sendable {
    let peer: Peer
    let connection: any EventSink
    /// The number of open connections of all clients.
    let connections: Int

    /// Returns whose objects the peer means.
    /// - Throws: `permission.denied` if it names other users and is not an administrator.
    func scope(_ asked: OwnerScope?) throws(TransferError) -> OwnerScope {
        guard let asked else { return .user(peer.uid) }
        guard peer.isAdmin || asked == .user(peer.uid) else {
            throw TransferError.bad("owner", "only administrators see what belongs to others.", .permissionDenied)
        }
        return asked
    }

    /// Returns the one owner that the peer means.
    /// - Throws: `permission.denied` if it names another user and is not an administrator.
    func owner(_ asked: UserID?) throws(TransferError) -> UserID {
        _ = try scope(asked.map { .user($0) })
        return asked ?? peer.uid
    }
}

/// A method's result, and what happens after the client has it.
struct Reply<Value: Sendable>: Sendable {
    var value: Value
    var afterwards: (@Sendable () -> Void)?

    init(_ value: Value, afterwards: (@Sendable () -> Void)? = nil) {
        self.value = value
        self.afterwards = afterwards
    }
}
