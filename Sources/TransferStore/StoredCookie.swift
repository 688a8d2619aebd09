import TransferModel

/// A cookie with its owner and session.
package struct StoredCookie: Hashable, Sendable {
    package var owner: UserID
    /// The session that keeps its own cookies; empty for the owner's shared cookies.
    package var session: String
    package var cookie: Cookie
    /// Grows with each cookie of the owner.
    package var created: Int64

    package init(owner: UserID, session: String, cookie: Cookie, created: Int64) {
        self.owner = owner
        self.session = session
        self.cookie = cookie
        self.created = created
    }
}
