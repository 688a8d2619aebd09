import Threading
import TransferModel
import TransferStore

/// Stores what owners' tasks learn from servers: cookies, known hosts and refused credentials.
///
/// The newest values are in memory and in use. Changes that the store could not take are tried again with the owner's
/// next change, when the daemon stops, and each second while the state folder is full or failing.
final class UnstoredChanges<Change: Hashable & Sendable>: Sendable {
    /// Writes each change as it is at the time of the write, so the newest value is stored, in whatever order the
    /// changes reach the store.
    typealias Body = @Sendable (Set<Change>, StoreTransaction) throws -> Void

    private struct Owner {
        var changes: Set<Change> = []
        /// A try in a second is due.
        var isRetried = false
        var body: Body
    }

    private let owners = Guarded<[UserID: Owner]>([:])
    private let store: TransferStore

    init(store: TransferStore) { self.store = store }

    /// Hands changes to the store and does not wait.
    func store(_ new: Set<Change>, of owner: UserID, _ body: @escaping Body) {
        let due = take(new, owner)
        guard !due.isEmpty else { return }
        store.write({ try body(due, $0) }) { [weak self] in
            if case .failure(let error) = $0 { self?.keep(due, of: owner, body, error) }
        }
    }

    /// Like `store`, but the changes are durable when this returns.
    /// - Throws: what the store throws. The changes are then tried again too.
    func write(_ new: Set<Change>, of owner: UserID, _ body: @escaping Body) async throws {
        let due = take(new, owner)
        guard !due.isEmpty else { return }
        do {
            try await store.write { try body(due, $0) }
        } catch {
            keep(due, of: owner, body, error)
            throw error
        }
    }

    /// Tries once more to store what is left, because the daemon stops.
    func flush() async {
        for (owner, left) in owners.withLock({ $0 }) { try? await write([], of: owner, left.body) }
    }

    private func take(_ new: Set<Change>, _ owner: UserID) -> Set<Change> {
        owners.withLock { owners in
            guard let left = owners[owner]?.changes, !left.isEmpty else { return new }
            owners[owner]?.changes = []
            return left.union(new)
        }
    }

    private func keep(_ due: Set<Change>, of owner: UserID, _ body: @escaping Body, _ error: any Error) {
        let passes = (error as? TransferError).map { StorePatience.passes($0.code) } ?? false
        let isFirst = owners.withLock { owners in
            var left = owners[owner] ?? Owner(body: body)
            left.changes.formUnion(due)
            let isFirst = passes && !left.isRetried
            if isFirst { left.isRetried = true }
            owners[owner] = left
            return isFirst
        }
        guard isFirst else { return }
        Task { [weak self] in
            try? await Task.sleep(for: .seconds(1))
            guard let self else { return }
            owners.withLock { $0[owner]?.isRetried = false }
            store([], of: owner, body)
        }
    }
}
