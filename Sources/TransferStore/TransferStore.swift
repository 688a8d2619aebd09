import Glibc
import Threading
import TransferModel

/// Keeps tasks, sessions, events and settings in one SQLite database: the only place that speaks SQL.
///
/// What `write` has returned is on the disk (WAL with synchronous=FULL); reads see the last commit and never wait for
/// a writer.
package final class TransferStore: Sendable {
    /// Version of the SQLite library in use.
    package static var sqliteVersion: String { Connection.libraryVersion }

    let database: Database
    /// Random name of this store; what it was before never matches another one's part files.
    package let identifier: String
    /// Whether it is in memory: nothing of it may be on a disk.
    package var isInMemory: Bool { files == nil }
    /// Path of the state folder; empty if the store is in memory.
    package var folderPath: String { files?.folder.path ?? "" }
    package var databasePath: String { files?.place.path ?? ":memory:" }
    /// Whether another folder, or none, has the state folder's path by now. May block.
    package var isElsewhere: Bool { files?.place.isElsewhere ?? false }
    /// What to say then.
    package var moved: TransferError {
        files?.place.moved ?? TransferError(.internal, "A store in memory has no place that it could leave.")
    }
    /// The database's log, if the last daemon was killed and what it left of it is gone: what was in it is lost.
    package let missingLog: String?
    /// nil if the store is in memory.
    private let files: StoreFiles?
    private let health: StoreHealth
    private let committer: GroupCommitter
    /// nil if the store is in memory.
    let checkpointing: Checkpointing?
    private let readers: LaneQueue
    /// For as long as the database is open.
    let recent: RecentRecords
    private let tidying: Tidying
    private let isInPlace: Bool
    private let isClosed = Guarded(false)

    /// Locks `folder/lock`, opens `folder/dld.sqlite` and migrates it; missing folders are created with mode 0700.
    /// - Parameter inPlace: whoever asks does the work, after all others who are ready had their turn, each write in a
    ///   commit of its own, and nothing happens by itself: what simulations need, whose order of things is to be known.
    /// - Throws: `TransferError`: the lock is held (with the pid), the folder or database cannot be used, or a newer
    ///   dld wrote it. A refused database is not changed.
    package convenience init(folder path: String, inPlace: Bool = false) throws {
        let folder = StateFolder(path: path)
        try folder.create()
        let lock = try InstanceLock(path: folder.lock)
        let health = StoreHealth()
        let reserve = Reserve(path: folder.reserve, health: health)
        let missingLog = lock.wasOpen && folder.lacksLog ? folder.database + "-wal" : nil
        let (database, identifier) = try StoreOpening.open(folder)
        lock.noteOpen()
        reserve.restore()
        let checkpointing = try StoreOpening.checkpoints(folder, of: database, inPlace: inPlace)
        let files = StoreFiles(folder: folder, lock: lock, reserve: reserve, place: try DatabasePlace(folder.database))
        self.init(
            database, identifier, files, checkpointing: checkpointing, health: health, missingLog: missingLog,
            inPlace: inPlace)
    }

    /// Makes an empty store that is gone when it is closed: nothing of it is ever on a disk.
    /// - Parameter isVolatile: it is the one of volatile sessions. Its ids begin at `TaskID.firstVolatile`; events are handed
    ///   on without a number and not kept; what one owner may keep in it is bounded.
    package static func inMemory(inPlace: Bool = false, isVolatile: Bool = false) throws -> TransferStore {
        let (database, identifier) = try StoreOpening.openInMemory(isVolatile: isVolatile)
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
        readers = LaneQueue(name: "dld-store-read", width: inPlace ? 0 : Database.readers, limit: 2 * Database.readers)
        committer = GroupCommitter(
            database: database, files: files, health: health, checkpointing: checkpointing, recent: recent,
            hasThread: !inPlace)
        database.write { [recent] in recent.follow($0) }
        tidying = Tidying(committer, checkpointing: checkpointing)
        guard !inPlace else { return }
        committer.observeUntidiness { [tidying] in tidying.note() }
        committer.start()
        // The last daemon may have left something.
        let free = try? database.read { try StoreSnapshot($0).freePages() }
        if (free ?? 0) > Tidying.kept { tidying.note() }
    }

    /// Whether a store could be opened there, as far as that is seen without making anything.
    /// - Throws: `TransferError` as `init`.
    package static func check(folder path: String) throws {
        let folder = StateFolder(path: path)
        try folder.check()
        try LostContent.refuse(folder)
    }

    /// Bytes that the files of a store take there, as a bound of what each of them needs.
    package static func need(folder path: String) -> ByteCount {
        let folder = StateFolder(path: path)
        let files = [folder.database, folder.database + "-wal", folder.journal]
        return files.reduce(Reserve.size) { sum, file in
            var info = stat()
            return stat(file, &info) == 0 ? sum + ByteCount(Int64(info.st_size)) : sum
        }
    }

    deinit {
        close()
    }

    /// Runs `body` in the next grouped commit, in a savepoint of its own, and returns when that commit is durable.
    ///
    /// The body has no effect but on the transaction: it runs again where a full disk made the first run void.
    /// - Throws: what the body throws (its changes alone are undone); `disk.full`, `disk.io` if the commit failed
    ///   (nothing of it remains); `daemon.shutting_down` after `close`.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        if isInPlace { await Turn.pass() }
        return try await committer.write(body)
    }

    /// As `write`, for callers that do not wait.
    /// - Parameter then: hears of the end once, on the thread that writes: it must be quick and must not wait for the store.
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

    /// As `read`, for callers that do not wait.
    /// - Parameter then: hears of the end once, on a thread that reads.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreSnapshot) throws -> Value,
        then: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        guard isInPlace else {
            return readers.post(on: 0) { [self] in then(Result { try readHere(body) }) }
        }
        Task { then(Result { try readHere(body) }) }
    }

    /// As `read`, on the caller's thread.
    package func readHere<Value>(_ body: (StoreSnapshot) throws -> Value) throws -> Value {
        do {
            let value = try database.read { try body(StoreSnapshot($0)) }
            health.succeeded()
            return value
        } catch {
            throw failed(error)
        }
    }

    /// A page that was damaged when it was read is not to stay in memory: the file may be well again.
    /// - Returns: the failure as it is told.
    private func failed(_ error: any Error) -> any Error {
        let error = StoreFailure.transferError(error, of: databasePath)
        if health.failed(error), !isInPlace { releaseMemory() }
        return error
    }

    /// What is wrong with the database, if SQLite has met a damaged page since it was opened.
    package var damage: TransferError? { health.damage }

    /// Calls `body` once when the store cannot work, and once when it can again; at once for what holds already. It is
    /// called on whichever thread finds out, and must not use the store.
    package func onTrouble(_ body: @escaping @Sendable (StoreNews) -> Void) { health.observe(body) }

    /// Calls `body` after each commit that appended events, in commit order and before the writers are resumed, on the
    /// writer's thread: it must be quick and must not wait for a write. Set before the first write.
    package func onCommit(_ body: @escaping @Sendable ([EventRecord]) -> Void) {
        committer.observeCommits(body)
    }

    /// True while the reserve is given away because the state folder's file system is full: adds are refused then.
    package var isStorageLow: Bool { files?.reserve.lack != nil }

    /// Writes that wait for the next commit.
    package var queuedWrites: Int { committer.queueLength }

    /// Whether something is being given back to the file system, or is to be looked for.
    var isTidying: Bool { tidying.isActive }

    /// Takes the reserve again where there is room now.
    /// - Returns: whether adds are accepted from now on.
    @discardableResult
    package func restoreReserve() -> Bool { files?.reserve.restore() ?? true }

    /// Gives SQLite's caches back, as soon as nobody uses them; returns at once.
    package func releaseMemory() { readers.post(on: 0) { [database] in database.releaseMemory() } }

    /// Writes down beside the lock where this daemon listens: a second one that is refused says so.
    package func note(sockets: [String]) { files?.lock.note(sockets: sockets) }

    /// Performs the queued writes, copies the log into the database, closes it and gives the lock back. Further calls do
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
        if isClosed { files?.lock.noteClosed() }
        files?.lock.release()
    }
}
