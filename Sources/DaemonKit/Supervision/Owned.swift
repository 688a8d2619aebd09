import Threading
import TransferModel
import TransferStore

/// Stores what owners' tasks learn from servers: cookies, known hosts and refused credentials.
///
/// The newest values are in memory and in use. Changes that the store could not take are tried again with the owner's
/// next change, when the daemon stops, and after pauses while the state folder is full or failing.
final class UnstoredChanges<Change: Hashable & Sendable>: Sendable {
    /// Writes each change as it is at the time of the write, so the newest value is stored, in whatever order the
    /// changes reach the store.
    typealias Body = @Sendable (Set<Change>, StoreTransaction) throws -> Void

    /// What the store could not take of an owner's changes.
    private struct Left {
        var changes: Set<Change> = []
        let body: Body
        /// Until the next try. A write that fails also fails those of others that share its commit.
        var pause = Duration.seconds(1)
        var isRetried = false
    }

    private let left = Guarded<[UserID: Left]>([:])
    private let store: TransferStore
    private let sleep: @Sendable (Duration) async -> Void

    init(
        store: TransferStore, sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        self.store = store
        self.sleep = sleep
    }

    /// Hands changes to the store and does not wait.
    func store(_ new: Set<Change>, of owner: UserID, _ body: @escaping Body) {
        let due = take(new, owner)
        guard !due.isEmpty else { return }
        store.write({ try body(due, $0) }) { [weak self] in
            switch $0 {
            case .success: self?.settle(owner)
            case .failure(let error): self?.keep(due, of: owner, body, error)
            }
        }
    }

    /// Like `store`, but the changes, and those that were left, are durable when this returns.
    /// - Throws: what the store throws. The changes are then tried again too.
    func write(_ new: Set<Change>, of owner: UserID, _ body: @escaping Body) async throws {
        let due = take(new, owner)
        guard !due.isEmpty else { return }
        do {
            try await store.write { try body(due, $0) }
            settle(owner)
        } catch {
            keep(due, of: owner, body, error)
            guard var error = error as? TransferError, Self.passes(error) else { throw error }
            error.message += " The change is in force, and is stored when the disk works again."
            throw error
        }
    }

    /// How many changes the store could not take.
    var count: Int { left.withLock { $0.values.reduce(0) { $0 + $1.changes.count } } }

    /// Hands what is left to the store, because it is about to close.
    func flush() {
        for (owner, left) in left.withLock({ $0 }) { store([], of: owner, left.body) }
    }

    private func take(_ new: Set<Change>, _ owner: UserID) -> Set<Change> {
        left.withLock { left in
            guard let changes = left[owner]?.changes, !changes.isEmpty else { return new }
            left[owner]?.changes = []
            return changes.union(new)
        }
    }

    /// No pause mends a damaged database.
    private static func passes(_ error: TransferError) -> Bool { StorePatience.passes(error.code) && error.retryable }

    private func settle(_ owner: UserID) {
        left.withLock { left in
            if left[owner]?.changes.isEmpty == true { left[owner] = nil }
        }
    }

    private func keep(_ due: Set<Change>, of owner: UserID, _ body: @escaping Body, _ error: any Error) {
        let passes = (error as? TransferError).map(Self.passes) ?? false
        let pause = left.withLock { left -> Duration? in
            var known = left[owner] ?? Left(body: body)
            known.changes.formUnion(due)
            defer { left[owner] = known }
            guard passes, !known.isRetried else { return nil }
            known.isRetried = true
            return known.pause
        }
        guard let pause else { return }
        Task { [weak self, sleep] in
            await sleep(pause)
            guard let self else { return }
            left.withLock { left in
                left[owner]?.isRetried = false
                left[owner]?.pause = min(pause * 2, .seconds(60))
            }
            store([], of: owner, body)
        }
    }
}
