import TransferModel

/// A cookie with whose it is.
package struct StoredCookie: Hashable, Sendable {
    package var owner: UserID
    /// Of the session that has it for itself; empty for all of its owner's.
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
