import TransferModel

/// Remembers which credentials a server refused or a client removed, without keeping the passwords. It compares hashes,
/// whose key lasts as long as the process.
package struct CredentialMarks: Sendable, Hashable {
    private struct Mark: Hashable {
        var space: CredentialSpace
        var hash: Int
    }

    /// The newest mark is the last.
    private var marks: [Mark] = []

    package init() {}

    /// Adds a mark. Beyond `Bounds.credentials` marks, the oldest is forgotten.
    package mutating func add(_ username: String, _ password: String, at space: CredentialSpace) {
        let mark = Mark(space: space, hash: Self.hash(username, password))
        marks.removeAll { $0 == mark }
        marks.append(mark)
        if marks.count > Bounds.credentials { marks.removeFirst() }
    }

    /// Whether the credential is marked as an answer to this demand.
    package func contain(_ username: String, _ password: String, for demand: ProtectionSpace) -> Bool {
        guard !marks.isEmpty else { return false }
        let hash = Self.hash(username, password)
        return marks.contains { $0.hash == hash && $0.space.covers(demand) }
    }

    /// Removes the marks of a space. A realm or method that is nil matches all.
    package mutating func remove(at space: CredentialSpace) { marks.removeAll { space.covers($0.space) } }

    /// Removes the mark of a credential, which may be stored again.
    package mutating func remove(_ username: String, _ password: String, at space: CredentialSpace) {
        guard !marks.isEmpty else { return }
        let hash = Self.hash(username, password)
        marks.removeAll { $0.hash == hash && space.covers($0.space) }
    }

    private static func hash(_ username: String, _ password: String) -> Int { [username, password].hashValue }
}
