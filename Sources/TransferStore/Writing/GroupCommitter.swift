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
        /// Bodies that were ever taken.
        var taken = 0
    }

    /// What the bodies of one commit did.
    private struct Outcome {
        var events: [EventRecord] = []
        var freesPages = false
    }

    /// A function by itself in a generic box would be wrapped once more by each look at it (see `Guarded`).
    private struct Observer {
        var events: (@Sendable ([EventRecord]) -> Void)?
        var untidiness: (@Sendable () -> Void)?
    }

    /// Most bodies in one transaction: bounds how long the first of them waits.
    static let largestGroup = 1024

    private let pool: DatabasePool
    private let place: DatabasePlace
    private let reserve: Reserve
    private let health: StoreHealth
    private let checkpointing: Checkpointing
    private let hasThread: Bool
    private let state = ConditionLock(State())
    private let observer = Guarded(Observer())

    /// - Parameter hasThread: false where whoever writes commits, by itself.
    init(
        pool: DatabasePool, place: DatabasePlace, reserve: Reserve, health: StoreHealth, checkpointing: Checkpointing,
        hasThread: Bool
    ) {
        self.hasThread = hasThread
        self.pool = pool
        self.place = place
        self.reserve = reserve
        self.health = health
        self.checkpointing = checkpointing
    }

    /// Without a thread every write is refused.
    func start() {
        guard hasThread else { return }
        if !NamedThread.start("dld-store", { [self] in loop() }) {
            state.withLock { $0 = State(isClosing: true, hasEnded: true) }
        }
    }

    func observeCommits(_ body: @escaping @Sendable ([EventRecord]) -> Void) {
        observer.withLock { $0.events = body }
    }

    /// Calls `body` after each commit that leaves something to be given back; as quick as the other one.
    func observeUntidiness(_ body: @escaping @Sendable () -> Void) {
        observer.withLock { $0.untidiness = body }
    }

    /// Runs `body` in the next group and returns when that is durable.
    func write<Value: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> Value) async throws -> Value {
        try await withCheckedContinuation { continuation in submit(WriteRequest(body, continuation)) }.get()
    }

    func submit(_ write: any PendingWrite) {
        let isAccepted = state.withLock { state in
            if !state.isClosing {
                if hasThread { state.queue.append(write) } else { state.taken += 1 }
            }
            return !state.isClosing
        }
        if !isAccepted {
            write.fail(TransferError(.shuttingDown, "The store is closed."))
        } else if hasThread {
            state.broadcast()
        } else {
            perform([write])
        }
    }

    /// Writes that wait for the next commit.
    var queueLength: Int { state.withLock { $0.queue.count } }

    /// Writes that ever came; two equal answers have none between them.
    var writeCount: Int { state.withLock { $0.taken + $0.queue.count } }

    /// Performs what is queued, then ends the thread.
    func close() {
        state.withLock { state in
            state.isClosing = true
            if !hasThread { state.hasEnded = true }
        }
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
            state.taken += group.count
            return .some(group)
        }
    }

    private func perform(_ group: [any PendingWrite]) {
        do {
            try place.check()
            let outcome = try commitReleasingReserve(group)
            health.succeeded()
            let observer = observer.withLock { $0 }
            if !outcome.events.isEmpty { observer.events?(outcome.events) }
            let isLong = checkpointing.hasGrownLong()
            if outcome.freesPages || isLong { observer.untidiness?() }
            for write in group { write.finish() }
        } catch {
            let error = StoreFailure.transferError(error, of: place.path)
            health.failed(error)
            for write in group { write.fail(error) }
        }
    }

    /// On a full disk, gives the reserve away and tries once more: then state changes fit and adds refuse themselves.
    private func commitReleasingReserve(_ group: [any PendingWrite]) throws -> Outcome {
        do {
            return try commit(group)
        } catch let error as DatabaseError where StoreFailure.isStorageFull(error) {
            guard reserve.release() else { throw error }
            return try commit(group)
        }
    }

    private func commit(_ group: [any PendingWrite]) throws -> Outcome {
        try pool.writeWithoutTransaction { database in
            var outcome = Outcome()
            try database.inTransaction(.immediate) {
                for write in group { try run(write, in: database, into: &outcome) }
                return .commit
            }
            checkpointing.finishIfDue(database)
            return outcome
        }
    }

    /// Runs one body in its savepoint.
    /// - Throws: only what voids the whole transaction.
    private func run(_ write: any PendingWrite, in database: Database, into outcome: inout Outcome) throws {
        let transaction = StoreTransaction(database, lacking: reserve.lack)
        do {
            try database.inSavepoint {
                try write.run(transaction)
                return .commit
            }
            outcome.events.append(contentsOf: transaction.appended)
            outcome.freesPages = outcome.freesPages || transaction.freesPages
        } catch {
            guard database.isInsideTransaction, !StoreFailure.voidsTransaction(error) else { throw error }
            write.note(StoreFailure.transferError(error, of: place.path))
        }
    }
}
