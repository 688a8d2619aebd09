import TransferModel

/// Remembers which credentials a server refused or a client removed, without keeping the passwords. It compares hashes,
/// whose key lasts as long as the process.
package struct CredentialMarks: Sendable, Hashable {
    private struct Mark: Hashable {
        var space: CredentialSpace
        var hash: Int
        var time: Int64
    }

    /// The newest mark is the last.
    private var marks: [Mark] = []

    package init() {}

    /// Adds a mark, in place of an earlier one of the same credential. Beyond `Bounds.credentials` marks, the oldest is forgotten.
    /// - Parameter time: when this happened, in milliseconds of the boot clock.
    package mutating func add(_ username: String, _ password: String, at space: CredentialSpace, time: Int64 = .max) {
        let mark = Mark(space: space, hash: Self.hash(username, password), time: time)
        marks.removeAll { $0.space == mark.space && $0.hash == mark.hash }
        marks.append(mark)
        if marks.count > Bounds.credentials { marks.removeFirst() }
    }

    /// Whether the credential is marked as an answer to this demand.
    /// - Parameter time: only marks made after this time count; nil for all.
    package func contain(
        _ username: String, _ password: String, for demand: ProtectionSpace, after time: Int64? = nil
    ) -> Bool {
        guard !marks.isEmpty else { return false }
        let hash = Self.hash(username, password)
        return marks.contains { mark in
            mark.hash == hash && mark.space.covers(demand) && time.map { mark.time > $0 } ?? true
        }
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
