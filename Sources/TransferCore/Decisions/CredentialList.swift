import TransferModel

/// Chooses which of several credentials answers a challenge, and decides which credentials may be sent without asking a
/// client.
package struct CredentialList: Sendable, Hashable {
    /// In the order in which they were stored.
    package private(set) var all: [StoredCredential] = []
    /// Removed and replaced credentials. Tasks that still send them must not store them again.
    private var removed = CredentialMarks()

    package init(_ all: [StoredCredential] = []) { self.all = all }

    /// The credential that answers a challenge without asking a client. Only defaults that were not refused count. The
    /// one with the most precise space wins, and among equals the one stored last.
    /// - Parameter username: only credentials of this user count, also those that are not defaults; nil for any user.
    package func choice(for demand: ProtectionSpace, of username: String? = nil) -> StoredCredential? {
        all.filter { one in
            !one.isRefused && one.space.covers(demand) && username.map { one.username == $0 } ?? one.isDefault
        }
        .enumerated()
        .max { ($0.element.space.precision, $0.offset) < ($1.element.space.precision, $1.offset) }?
        .element
    }

    /// Stores a credential in place of the one with the same space and user name.
    /// - Parameters:
    ///   - isDefault: nil = yes, unless its space has another default that was not refused.
    ///   - time: now, in milliseconds of the boot clock.
    package mutating func keep(_ credential: StoredCredential, isDefault: Bool? = nil, at time: Int64 = .max) {
        var credential = credential
        for one in all where one.space == credential.space && one.username == credential.username {
            removed.add(one.username, one.password, at: one.space, time: time)
        }
        all.removeAll { $0.space == credential.space && $0.username == credential.username }
        let isTaken = all.contains { $0.space == credential.space && $0.isDefault && !$0.isRefused }
        credential.isDefault = isDefault ?? !isTaken
        if credential.isDefault {
            for index in all.indices where all[index].space == credential.space { all[index].isDefault = false }
        }
        all.append(credential)
        removed.remove(credential.username, credential.password, at: credential.space)
    }

    /// Whether a credential that answers this demand was removed or replaced after a client gave it to a task, and has
    /// not been stored since.
    /// - Parameter time: when the client gave it, in milliseconds of the boot clock; nil if that is unknown.
    package func hasRemoved(
        _ username: String, _ password: String, for demand: ProtectionSpace, since time: Int64?
    ) -> Bool {
        removed.contain(username, password, for: demand, after: time)
    }

    /// The server or proxy has refused the credential: it is not sent again without a client's answer until it is
    /// stored again.
    /// - Returns: whether this was not known before.
    package mutating func refuse(_ username: String, _ password: String, by demand: ProtectionSpace) -> Bool {
        let known = all.indices.filter { index in
            let one = all[index]
            return !one.isRefused && one.username == username && one.password == password && one.space.covers(demand)
        }
        for index in known { all[index].isRefused = true }
        return !known.isEmpty
    }

    /// Removes the credentials of a server or proxy; a realm, method or user name that is nil matches all.
    /// - Parameter time: now, in milliseconds of the boot clock.
    /// - Returns: how many were removed.
    package mutating func remove(at space: CredentialSpace, username: String?, time: Int64 = .max) -> Int {
        let gone = all.filter { space.covers($0.space) && (username == nil || $0.username == username) }
        for one in gone { removed.add(one.username, one.password, at: one.space, time: time) }
        all.removeAll(where: gone.contains)
        return gone.count
    }
}

extension CredentialSpace {
    /// Whether a credential for this space may be sent in answer to this challenge (RFC 9110 section 11.5).
    package func covers(_ demand: ProtectionSpace) -> Bool {
        origin == demand.origin && isProxy == demand.isProxy && (realm == nil || realm == demand.realm)
            && (method == nil || method == demand.method)
    }

    /// Whether everything in the other space is in this one too.
    func covers(_ other: CredentialSpace) -> Bool {
        origin == other.origin && isProxy == other.isProxy && (realm == nil || realm == other.realm)
            && (method == nil || method == other.method)
    }

    /// How precisely the space matches: a realm counts more than a method.
    fileprivate var precision: Int { (realm == nil ? 0 : 2) + (method == nil ? 0 : 1) }

    /// Returns the space in the form that challenges have: host and port as dld reads them in URLs, and the realm
    /// without control characters.
    /// - Throws: `request.bad_field`.
    package func normalized(_ field: String) throws(TransferError) -> CredentialSpace {
        func bad(_ member: String, _ why: String) -> TransferError {
            let name = "\(field).\(member)"
            return TransferError(.badField, "\(name): \(why)", details: ["field": .string(name)])
        }
        guard `protocol` == "http" || `protocol` == "https" else { throw bad("protocol", "say http or https.") }
        guard (1...65535).contains(port) else { throw bad("port", "say 1 to 65535.") }
        let isAddress = host.contains(":") && !host.hasPrefix("[")
        guard !host.isEmpty, host.utf8.count <= Bounds.name, !host.utf8.contains(where: { "/?#@\\".utf8.contains($0) }),
            let url = try? URLRules.parse("\(`protocol`)://\(isAddress ? "[\(host)]" : host):\(port)"),
            let known = url.port
        else { throw bad("host", "give a host name or an address.") }
        if let method, ![.httpBasic, .httpDigest, .ntlm, .negotiate].contains(method) {
            throw bad("method", "say httpBasic, httpDigest, ntlm or negotiate, or leave it out for all of them.")
        }
        if let realm, realm.unicodeScalars.count > Bounds.realm {
            throw bad("realm", "at most \(Bounds.realm) characters; longer ones of servers are cut there.")
        }
        var copy = self
        copy.host = url.host
        copy.port = known
        copy.realm = realm.map(ProtectionSpace.shown)
        return copy
    }
}
