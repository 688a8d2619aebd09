import Glibc
import Threading
import TransferModel

/// Runs all writes on one thread. Writes that queue up during a commit share the next one: with a disk that takes 2 ms
/// to flush, that is the difference between 500 and 35,000 writes a second.
final class GroupCommitter: Sendable {
    private struct State {
        var queue: [any PendingWrite] = []
        var isClosing = false
        var hasEnded = false
        /// Bodies taken from the queue so far.
        var taken = 0
    }

    /// What the bodies of one commit did.
    private typealias Outcome = (events: [EventRecord], isUntidy: Bool)

    /// Each access to a bare function in a generic box would wrap it once more (see `Guarded`).
    private struct Observer {
        var events: (@Sendable ([EventRecord]) -> Void)?
        var untidiness: (@Sendable () -> Void)?
    }

    /// Most bodies in one transaction: bounds how long the first of them waits.
    static let largestGroup = 1024

    private let database: Database
    private let files: StoreFiles?
    private let health: StoreHealth
    private let checkpointing: Checkpointing?
    private let recent: RecentRecords
    private let hasThread: Bool
    private let state = ConditionLock(State())
    private let observer = Guarded(Observer())
    let durations = Durations()

    /// - Parameter hasThread: false if each caller commits its own write.
    init(
        database: Database, files: StoreFiles?, health: StoreHealth, checkpointing: Checkpointing?,
        recent: RecentRecords, hasThread: Bool
    ) {
        self.hasThread = hasThread
        self.database = database
        self.files = files
        self.health = health
        self.checkpointing = checkpointing
        self.recent = recent
    }

    /// If the thread cannot be started, every write is refused.
    func start() {
        guard hasThread else { return }
        if !NamedThread.start("dld-store", { [self] in loop() }) {
            state.withLock { $0 = State(isClosing: true, hasEnded: true) }
        }
    }

    private var path: String { files?.place.path ?? ":memory:" }

    func observeCommits(_ body: @escaping @Sendable ([EventRecord]) -> Void) {
        observer.withLock { $0.events = body }
    }

    /// Calls `body` after each commit that leaves space to give back; it must be as quick as the other observer.
    func observeUntidiness(_ body: @escaping @Sendable () -> Void) {
        observer.withLock { $0.untidiness = body }
    }

    /// Runs `body` in the next group and returns when that is durable.
    func write<Value: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> Value) async throws -> Value {
        try await withCheckedContinuation { continuation in
            submit(WriteRequest(body) { continuation.resume(returning: $0) })
        }.get()
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

    /// Writes submitted so far; if two calls return the same number, nothing was written between them.
    var writeCount: Int { state.withLock { $0.taken + $0.queue.count } }

    /// Performs the queued writes, then ends the thread.
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
        state.wait { $0.queue.isEmpty && !$0.isClosing ? nil : () }
        // Threads that are about to write, and wait for a processor, share this commit.
        sched_yield()
        return state.wait { state -> [any PendingWrite]?? in
            if state.queue.isEmpty { return state.isClosing ? .some(nil) : nil }
            let group = Array(state.queue.prefix(Self.largestGroup))
            state.queue.removeFirst(group.count)
            state.taken += group.count
            return .some(group)
        }
    }

    private func perform(_ group: [any PendingWrite]) {
        do {
            try files?.place.check()
            let outcome = try commitReleasingReserve(group)
            health.succeeded()
            let observer = observer.withLock { $0 }
            if !outcome.events.isEmpty { observer.events?(outcome.events) }
            let isLong = checkpointing?.hasGrownLong() ?? false
            if outcome.isUntidy || isLong { observer.untidiness?() }
            for write in group { write.finish() }
        } catch let error as SQLiteError where group.count > 1 && StoreFailure.isStorageFull(error) {
            // One that needs much room must not fail those that need little.
            for write in group { perform([write]) }
        } catch {
            let error = StoreFailure.transferError(error, of: path)
            health.failed(error)
            for write in group { write.fail(error) }
        }
    }

    /// On a full disk, releases the reserve and tries once more: then state changes fit, and adds refuse themselves.
    private func commitReleasingReserve(_ group: [any PendingWrite]) throws -> Outcome {
        do {
            return try commit(group)
        } catch let error as SQLiteError where StoreFailure.isStorageFull(error) {
            guard let files, files.reserve.release() else { throw error }
            return try commit(group)
        }
    }

    private func commit(_ group: [any PendingWrite]) throws -> Outcome {
        try database.write { writer in
            var outcome: Outcome = ([], false)
            do {
                try durations.measure {
                    let isDone = try runTogether(group, in: writer, into: &outcome)
                    if !isDone, group.count > 1 {
                        // The body that failed must not take the changes of the others with it.
                        outcome = ([], false)
                        try runApart(group, in: writer, into: &outcome)
                    }
                }
            } catch {
                recent.forgetAll()
                throw error
            }
            recent.committed(writer)
            checkpointing?.finishIfDue(writer)
            return outcome
        }
    }

    /// Runs bodies without a savepoint each: inside a savepoint, SQLite copies every page before its first change.
    /// - Returns: false if one failed; then all changes are rolled back.
    private func runTogether(
        _ group: [any PendingWrite], in writer: Connection, into outcome: inout Outcome
    ) throws -> Bool {
        var isDone = true
        try writer.writing {
            recent.begin(writer)
            for write in group where isDone { isDone = try run(write, in: writer, into: &outcome) { try $0() } }
            if isDone { try recent.tallies.write(to: writer) }
            return isDone
        }
        return isDone
    }

    /// Runs each body in its own savepoint.
    private func runApart(_ group: [any PendingWrite], in writer: Connection, into outcome: inout Outcome) throws {
        try writer.writing {
            recent.begin(writer)
            for write in group {
                _ = try run(write, in: writer, into: &outcome) { body in
                    try writer.savepoint {
                        try body()
                        try recent.tallies.write(to: writer)
                    }
                }
            }
            return true
        }
    }

    /// Runs one body.
    /// - Parameter shield: rolls back only this body if it throws.
    /// - Returns: false if the body failed.
    /// - Throws: only what voids the whole transaction.
    private func run(
        _ write: any PendingWrite, in writer: Connection, into outcome: inout Outcome,
        shield: (() throws -> Void) throws -> Void
    ) throws -> Bool {
        let transaction = StoreTransaction(writer, recent: recent, lacking: files?.reserve.lack)
        do {
            try shield { try write.run(transaction) }
            outcome.events.append(contentsOf: transaction.appended)
            outcome.isUntidy = outcome.isUntidy || transaction.isUntidy
            return true
        } catch {
            recent.forgetAll()
            guard writer.isInTransaction, !StoreFailure.voidsTransaction(error) else { throw error }
            write.note(StoreFailure.transferError(error, of: path))
            return false
        }
    }
}

/// One member of a grouped commit: the caller's body, and how its result is reported.
protocol PendingWrite: AnyObject, Sendable {
    /// Runs the body and keeps its value. Runs again if the transaction was rolled back.
    func run(_ transaction: StoreTransaction) throws
    /// Notes that only this body failed, with the error for its caller; the transaction continues without it.
    func note(_ error: any Error)
    /// Reports the result of the last run to the caller.
    func finish()
    /// Reports the failure of the commit to the caller.
    func fail(_ error: any Error)
}

final class WriteRequest<Value: Sendable>: PendingWrite, @unchecked Sendable {
    private let body: @Sendable (StoreTransaction) throws -> Value
    private let then: @Sendable (Result<Value, any Error>) -> Void
    /// Used only on the writer's thread.
    private var result: Result<Value, any Error>?

    init(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value,
        then: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        self.body = body
        self.then = then
    }

    func run(_ transaction: StoreTransaction) throws {
        result = .success(try body(transaction))
    }

    func note(_ error: any Error) {
        result = .failure(error)
    }

    func finish() {
        then(result ?? .failure(TransferError(.internal, "A write did not run.")))
    }

    func fail(_ error: any Error) {
        then(.failure(error))
    }
}
