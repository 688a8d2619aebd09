import Glibc
import Threading
import TransferModel

/// Keeps tasks, sessions, events and settings in one SQLite database.
///
/// What `write` has returned is on the disk (WAL with synchronous=FULL). Reads see the last commit and do not wait for
/// a writer, except in a store in memory.
package final class TransferStore: Sendable {
    /// Version of the SQLite library in use.
    package static var sqliteVersion: String { Connection.libraryVersion }

    let database: Database
    /// Random name of this store; a new store in its place never matches the part files of the old one.
    package let identifier: String
    /// Whether the store is in memory: nothing of it may reach a disk.
    package var isInMemory: Bool { files == nil }
    /// Path of the state folder; empty if the store is in memory.
    package var folderPath: String { files?.folder.path ?? "" }
    /// The mode of the state folder, such as `0755`, if other users may list it; nil if they may not.
    package var listableMode: String? { files?.folder.listableMode }
    package var databasePath: String { files?.place.path ?? ":memory:" }
    /// The files that must stay where they are while the store is open.
    package var databasePaths: [String] { files?.place.paths ?? [] }
    /// Why the daemon has to end, if the database, its log or the lock is no longer at its path. May block.
    package var loss: TransferError? { files?.place.loss }
    /// The database's log, if the last daemon was killed and its log is gone: the changes in it are lost.
    package let missingLog: String?
    /// nil if the store is in memory.
    private let files: StoreFiles?
    let health: StoreHealth
    private let committer: GroupCommitter
    /// nil if the store is in memory.
    let checkpointing: Checkpointing?
    private let readers: KeyedQueue
    /// Must live as long as the database is open.
    let recent: RecentRecords
    private let tidying: Tidying
    private let isInPlace: Bool
    private let isClosed = Guarded(false)

    /// Locks `folder/lock`, opens `folder/dld.sqlite` and updates its schema; missing folders are created with mode 0700.
    /// - Parameter inPlace: the caller does the work, after all other ready tasks had their turn. Each write has its
    ///   own commit, and nothing happens by itself. For simulations, which need a known order of events.
    /// - Throws: `TransferError`: the lock is held (with the pid), the folder or database cannot be used, or a newer
    ///   dld wrote it (`state.newer`). A refused database is not changed, nor is any file beside it.
    package convenience init(folder path: String, inPlace: Bool = false) throws {
        let folder = StateFolder(path: path)
        try folder.create()
        let lock = try InstanceLock(path: folder.lock)
        let health = StoreHealth()
        let reserve = Reserve(path: folder.reserve, health: health)
        let missingLog = lock.wasOpen && folder.lacksLog ? folder.log : nil
        let (database, identifier) = try Database.open(folder) { lock.note(sockets: []) }
        lock.note(isOpen: true)
        reserve.restore()
        let checkpointing = try database.checkpoints(folder, inPlace: inPlace)
        let files = StoreFiles(
            folder: folder, lock: lock, reserve: reserve, place: try DatabasePlace(folder.database, lock: folder.lock))
        self.init(
            database, identifier, files, checkpointing: checkpointing, health: health, missingLog: missingLog,
            inPlace: inPlace)
    }

    /// Makes an empty store in memory, which ends when it is closed. Nothing in it is ever written to disk.
    /// - Parameters:
    ///   - isVolatile: the store is for volatile sessions. Events are passed on without a number and not kept. Limits
    ///     apply
    ///     to what each owner keeps in it.
    ///   - first: the first id of its tasks and questions, if it is volatile.
    package static func inMemory(
        inPlace: Bool = false, isVolatile: Bool = false, from first: TaskID = .firstVolatile
    ) throws -> TransferStore {
        let (database, identifier) = try Database.openInMemory(isVolatile: isVolatile, from: first)
        return TransferStore(
            database, identifier, nil, checkpointing: nil, health: StoreHealth(), missingLog: nil, inPlace: inPlace,
            recent: RecentRecords(isVolatile: isVolatile))
    }

    private init(
        _ database: Database, _ identifier: String, _ files: StoreFiles?, checkpointing: Checkpointing?,
        health: StoreHealth, missingLog: String?, inPlace: Bool, recent: RecentRecords = RecentRecords()
    ) {
        self.recent = recent
        (self.database, self.identifier, self.files, self.checkpointing) = (database, identifier, files, checkpointing)
        (self.health, self.missingLog, isInPlace) = (health, missingLog, inPlace)
        readers = KeyedQueue(name: "dld-store-read", width: inPlace ? 0 : Database.readers, limit: 2 * Database.readers)
        committer = GroupCommitter(
            database: database, files: files, health: health, checkpointing: checkpointing, recent: recent,
            hasThread: !inPlace)
        database.write { [recent] in recent.follow($0) }
        tidying = Tidying(committer, checkpointing: checkpointing)
        guard !inPlace else { return }
        committer.observeUntidiness { [tidying] in tidying.note() }
        committer.start()
        // The last daemon may have left free pages, or secrets in the log.
        if checkpointing != nil { tidying.note() }
    }

    /// Whether a store could be opened there, as far as this can be checked without creating anything.
    /// - Throws: `TransferError` like `init`.
    package static func check(folder path: String) throws {
        let folder = StateFolder(path: path)
        try folder.check()
        try folder.refuseLost()
    }

    /// Bytes that the files of a store take there, as a bound for what each of them needs.
    package static func need(folder path: String) -> ByteCount {
        let folder = StateFolder(path: path)
        let files = [folder.database, folder.log, folder.journal]
        return files.reduce(Reserve.size) { $0 + ByteCount(Int64(fileStatus($1)?.st_size ?? 0)) }
    }

    deinit {
        close()
    }

    /// Runs `body` in the next grouped commit, and returns when that commit is durable.
    ///
    /// The body must have no effect except on the transaction. It may run more than once: if another body of the group
    /// fails or the disk is full, all bodies are rolled back and run again.
    /// - Throws: what the body throws (only its changes are rolled back); `disk.full` or `disk.io` if the commit failed
    ///   (nothing of it remains); `daemon.shutting_down` after `close`.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        if isInPlace { await Turn.pass() }
        return try await committer.write(body)
    }

    /// Like `write`, for callers that do not wait.
    /// - Parameter then: called once with the result, on the thread that writes: it must be quick and must not wait for
    ///   the store.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value,
        then: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let request = WriteRequest(body, then: then)
        guard isInPlace else { return committer.submit(request) }
        Task { [committer] in committer.submit(request) }
    }

    /// Runs `body` on a snapshot of the last commit.
    /// - Throws: what the body throws; SQLite's failures as `TransferError`; `CancellationError`.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreSnapshot) throws -> Value
    ) async throws -> Value {
        if isInPlace {
            await Turn.pass()
            return try readHere(body)
        }
        try Task.checkCancellation()
        return try await withCheckedContinuation { continuation in
            read(body) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Like `read`, for callers that do not wait.
    /// - Parameter then: called once with the result, on a thread that reads.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreSnapshot) throws -> Value,
        then: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        guard isInPlace else {
            return readers.post(on: 0) { [self] in then(Result { try readHere(body) }) }
        }
        Task { then(Result { try readHere(body) }) }
    }

    /// Like `read`, on the caller's thread.
    package func readHere<Value>(_ body: (StoreSnapshot) throws -> Value) throws -> Value {
        do {
            let value = try database.read { try body(StoreSnapshot($0)) }
            health.succeeded()
            return value
        } catch {
            throw failed(error)
        }
    }

    /// A page that was damaged when it was read must not stay in memory: the file may be good again.
    /// - Returns: the failure in the form that callers get.
    private func failed(_ error: any Error) -> any Error {
        let error = StoreFailure.transferError(error, of: databasePath)
        if health.failed(error), !isInPlace { releaseMemory() }
        return error
    }

    /// The damage, if SQLite has found a damaged page since the database was opened.
    package var damage: TransferError? { health.damage }
    /// What prevents the store from working now: damage, a disk that fails, or a full one.
    package var trouble: TransferError? { health.trouble }

    /// Calls `body` once when the store cannot work, and once when it can again; immediately for troubles that already
    /// exist. It is called on any thread, and must not use the store.
    package func onTrouble(_ body: @escaping @Sendable (StoreNews) -> Void) { health.observe(body) }

    /// Calls `body` after each commit that appended events, in the order of commits. The calls are made on the writer's
    /// thread before the callers are resumed, so `body` must be quick and must not wait for a write. Call this before
    /// the first write.
    package func onCommit(_ body: @escaping @Sendable ([EventRecord]) -> Void) {
        committer.observeCommits(body)
    }

    /// Whether the reserve was released because the state folder's file system is full: adds are then refused.
    package var isStorageLow: Bool { files?.reserve.lack != nil }

    /// Writes that wait for the next commit.
    package var queuedWrites: Int { committer.queueLength }
    /// How long commits took, with the work of their bodies.
    package var commitDurations: Durations.Counts { committer.durations.current }

    /// Whether space is being given back to the file system, or will be looked for.
    var isTidying: Bool { tidying.isActive }

    /// Takes the reserve again if there is space now.
    /// - Returns: whether adds are accepted from now on.
    @discardableResult
    package func restoreReserve() -> Bool { files?.reserve.restore() ?? true }

    /// Releases SQLite's caches as soon as they are not in use; returns immediately.
    package func releaseMemory() { readers.post(on: 0) { [database] in database.releaseMemory() } }

    /// Writes beside the lock where this daemon listens, so that a second daemon that is refused can say so.
    package func note(sockets: [String]) { files?.lock.note(sockets: sockets) }

    /// Performs the queued writes, copies the log into the database, closes it and releases the lock. Further calls do
    /// nothing.
    package func close() {
        let first = isClosed.withLock { closed in
            defer { closed = true }
            return !closed
        }
        guard first else { return }
        tidying.stop()
        committer.close()
        readers.close()
        // A reader that still runs keeps its connection; the log then stays for the next start.
        let isClosed = database.close()
        checkpointing?.close()
        if isClosed { files?.lock.note(isOpen: false) }
        files?.lock.release()
    }
}

/// What a store on a disk has besides its database.
struct StoreFiles: Sendable {
    let folder: StateFolder
    let lock: InstanceLock
    let reserve: Reserve
    let place: DatabasePlace
}
