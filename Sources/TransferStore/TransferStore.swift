import Foundation
import GRDB
import Threading
import TransferModel

/// Keeps tasks, sessions, events and settings in one SQLite database: the only place that speaks SQL.
///
/// What `write` has returned is on the disk (WAL with synchronous=FULL); reads see the last commit and never wait for
/// a writer.
package final class TransferStore: Sendable {
    /// Version of the SQLite library in use.
    package static var sqliteVersion: String { SQLiteLibrary.version }

    let pool: DatabasePool
    /// Random name of this store; what it was before never matches another one's part files.
    package let identifier: String
    /// Path of the state folder.
    package var folderPath: String { folder.path }
    package var databasePath: String { place.path }
    /// Whether another folder, or none, has the state folder's path by now. May block.
    package var isElsewhere: Bool { place.isElsewhere }
    /// What to say then.
    package var moved: TransferError { place.moved }
    /// The database's log, if the last daemon was killed and what it left of it is gone: what was in it is lost.
    package let missingLog: String?
    private let folder: StateFolder
    private let lock: InstanceLock
    private let reserve: Reserve
    private let health = StoreHealth()
    private let place: DatabasePlace
    private let committer: GroupCommitter
    let checkpointing: Checkpointing
    /// For as long as the database is open.
    let recent = RecentRecords()
    private let tidying: Tidying
    private let isInPlace: Bool
    private let isClosed = Guarded(false)

    /// Locks `folder/lock`, opens `folder/dld.sqlite` and migrates it; missing folders are created with mode 0700.
    /// - Parameter inPlace: whoever asks does the work, after all others who are ready had their turn, each write in a
    ///   commit of its own, and nothing happens by itself: what simulations need, whose order of things is to be known.
    /// - Throws: `TransferError`: the lock is held (with the pid), the folder or database cannot be used, or a newer
    ///   dld wrote it. A refused database is not changed.
    package init(folder path: String, inPlace: Bool = false) throws {
        isInPlace = inPlace
        folder = StateFolder(path: path)
        try folder.create()
        lock = try InstanceLock(path: folder.lock)
        reserve = Reserve(path: folder.reserve, health: health)
        missingLog = lock.wasOpen && folder.lacksLog ? folder.database + "-wal" : nil
        (pool, identifier) = try StoreOpening.open(folder)
        lock.noteOpen()
        reserve.restore()
        checkpointing = try StoreOpening.checkpoints(folder, of: pool)
        place = try DatabasePlace(folder.database)
        committer = GroupCommitter(
            pool: pool, place: place, reserve: reserve, health: health, checkpointing: checkpointing,
            recent: recent, hasThread: !inPlace)
        pool.writeWithoutTransaction { [recent] in recent.follow($0) }
        tidying = Tidying(committer, checkpointing: checkpointing)
        guard !inPlace else { return }
        committer.observeUntidiness { [tidying] in tidying.note() }
        committer.start()
        // What the last daemon did not come to.
        if try pool.read({ try StoreSnapshot($0).freePages() }) > Tidying.kept { tidying.note() }
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
    /// - Throws: what the body throws (its changes alone are undone); `disk.full`, `disk.io` where the commit failed
    ///   (nothing of it remains); `daemon.shutting_down` after `close`.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        if isInPlace { await Turn.pass() }
        return try await committer.write(body)
    }

    /// Runs `body` on a snapshot of the last commit.
    /// - Throws: what the body throws; SQLite's failures as `TransferError`; `CancellationError`.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreSnapshot) throws -> Value
    ) async throws -> Value {
        do {
            guard isInPlace else {
                let value = try await pool.read { try body(StoreSnapshot($0)) }
                health.succeeded()
                return value
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw failed(error)
        }
        await Turn.pass()
        return try readHere(body)
    }

    /// As `read`, on the caller's thread.
    package func readHere<Value>(_ body: (StoreSnapshot) throws -> Value) throws -> Value {
        do {
            let value = try pool.read { try body(StoreSnapshot($0)) }
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
    package var isStorageLow: Bool { reserve.lack != nil }

    /// Writes that wait for the next commit.
    package var queuedWrites: Int { committer.queueLength }

    /// Whether something is being given back to the file system, or is to be looked for.
    var isTidying: Bool { tidying.isActive }

    /// Takes the reserve again where there is room now.
    /// - Returns: whether adds are accepted from now on.
    @discardableResult
    package func restoreReserve() -> Bool { reserve.restore() }

    /// Gives SQLite's caches back, as soon as nobody uses them; returns at once.
    package func releaseMemory() { pool.releaseMemoryEventually() }

    /// Writes down beside the lock where this daemon listens: a second one that is refused says so.
    package func note(sockets: [String]) { lock.note(sockets: sockets) }

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
        // A reader that still runs keeps its connection; the log then stays for the next start.
        let isClosed = (try? pool.close()) != nil
        checkpointing.close()
        if isClosed { lock.noteClosed() }
        lock.release()
    }
}
