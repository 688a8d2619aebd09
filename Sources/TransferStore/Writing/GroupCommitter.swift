import GRDB
import Threading
import TransferModel

/// Runs all writes on one thread and lets those that queue up during a commit share the next one: with a disk that
/// takes 2 ms to flush, that is the difference between 500 and 35,000 writes a second.
final class GroupCommitter: Sendable {
    private struct State {
        var queue: [any PendingWrite] = []
        var isClosing = false
        var hasEnded = false
    }

    /// A function by itself in a generic box would be wrapped once more by each look at it (see `Guarded`).
    private struct Observer {
        var body: (@Sendable ([EventRecord]) -> Void)?
    }

    /// Most bodies in one transaction: bounds how long the first of them waits.
    static let largestGroup = 1024

    private let pool: DatabasePool
    private let reserve: Reserve
    private let state = ConditionLock(State())
    private let observer = Guarded(Observer())

    init(pool: DatabasePool, reserve: Reserve) {
        self.pool = pool
        self.reserve = reserve
    }

    /// Without a thread every write is refused.
    func start() {
        if !NamedThread.start("dld-store", { [self] in loop() }) {
            state.withLock { $0 = State(isClosing: true, hasEnded: true) }
        }
    }

    func observeCommits(_ body: @escaping @Sendable ([EventRecord]) -> Void) {
        observer.withLock { $0.body = body }
    }

    func submit(_ write: any PendingWrite) {
        let isAccepted = state.withLock { state in
            if !state.isClosing { state.queue.append(write) }
            return !state.isClosing
        }
        if isAccepted {
            state.broadcast()
        } else {
            write.fail(TransferError(.shuttingDown, "The store is closed."))
        }
    }

    /// Writes that wait for the next commit.
    var queueLength: Int { state.withLock { $0.queue.count } }

    /// Performs what is queued, then ends the thread.
    func close() {
        state.withLock { $0.isClosing = true }
        state.broadcast()
        state.wait { $0.hasEnded ? () : nil }
    }

    private func loop() {
        while let group = nextGroup() { perform(group) }
        state.withLock { $0.hasEnded = true }
        state.broadcast()
    }

    private func nextGroup() -> [any PendingWrite]? {
        state.wait { state -> [any PendingWrite]?? in
            if state.queue.isEmpty { return state.isClosing ? .some(nil) : nil }
            let group = Array(state.queue.prefix(Self.largestGroup))
            state.queue.removeFirst(group.count)
            return .some(group)
        }
    }

    private func perform(_ group: [any PendingWrite]) {
        do {
            let events = try commitReleasingReserve(group)
            if !events.isEmpty { observer.withLock { $0.body }?(events) }
            for write in group { write.finish() }
        } catch {
            for write in group { write.fail(error) }
        }
    }

    /// On a full disk, gives the reserve away and tries once more: then state changes fit and adds refuse themselves.
    private func commitReleasingReserve(_ group: [any PendingWrite]) throws -> [EventRecord] {
        do {
            return try commit(group)
        } catch let error as DatabaseError where StoreFailure.isStorageFull(error) {
            guard reserve.release() else { throw error }
            return try commit(group)
        }
    }

    private func commit(_ group: [any PendingWrite]) throws -> [EventRecord] {
        try pool.writeWithoutTransaction { database in
            var events: [EventRecord] = []
            try database.inTransaction(.immediate) {
                for write in group {
                    try events.append(contentsOf: run(write, in: database))
                }
                return .commit
            }
            return events
        }
    }

    /// Runs one body in its savepoint.
    /// - Throws: only what voids the whole transaction.
    private func run(_ write: any PendingWrite, in database: Database) throws -> [EventRecord] {
        let transaction = StoreTransaction(database, storageIsLow: reserve.isLow)
        do {
            try database.inSavepoint {
                try write.run(transaction)
                return .commit
            }
            return transaction.appended
        } catch {
            guard database.isInsideTransaction, !StoreFailure.voidsTransaction(error) else { throw error }
            write.note(error)
            return []
        }
    }
}
