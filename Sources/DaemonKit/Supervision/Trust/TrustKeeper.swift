import TransferCore
import TransferModel
import TransferStore

/// The TLS servers that users trust for good. They are in the store on the disk and, for attempts that begin, in memory.
package final class TrustKeeper: Sendable {
    private let kept: Owned<[TrustedServer], Never>
    private let store: TransferStore

    /// - Parameter store: the store on the disk.
    package init(store: TransferStore) {
        self.store = store
        kept = Owned(store: store) { transaction in
            Dictionary(grouping: try transaction.trustedServers()) { .shared($0.owner) }.mapValues { $0.map(\.server) }
        }
    }

    /// Must follow each change of the store, and precede any other function.
    func load() async throws { try await kept.load(again: true) }

    // MARK: Tasks

    /// Returns the keys that tasks of a session trust in place of asking. A session that does not ask leaves trust to the
    /// verification, and an ephemeral one knows nothing of its owner.
    func keys(for session: SessionKey, _ policy: EffectivePolicy) -> [TrustedKey] {
        guard policy.usesOwnersStores, policy.asks.contains(.challenge) else { return [] }
        return list(session.owner).map(\.key)
    }

    /// Returns a claimed task with these keys.
    func adding(to claimed: TaskRecord, _ policy: EffectivePolicy) -> TaskRecord {
        let keys = keys(for: claimed.session, policy)
        guard !keys.isEmpty else { return claimed }
        var record = claimed
        record.settled = (claimed.settled ?? SettledDecisions()).adding(keys)
        return record
    }

    // MARK: Clients

    /// By name.
    package func list(_ owner: UserID) -> [TrustedServer] { kept[.shared(owner)] ?? [] }

    /// Trusts a server's key for good. This is durable when it returns.
    /// - Throws: `limit.reached`, and what the store throws.
    package func trust(_ server: TrustedServer, of owner: UserID) async throws {
        try await store.write { try $0.trust(server, owner: owner) }
        try await load()
    }

    /// Forgets the keys of a host, whatever its ports, or all. This is durable when it returns.
    /// - Returns: the number of servers.
    package func remove(host: String?, of owner: UserID) async throws -> Int {
        let count = try await store.write { try $0.removeTrustedServers(host: host, owner: owner) }
        if count > 0 { try await load() }
        return count
    }
}
