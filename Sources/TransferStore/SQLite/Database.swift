import CSQLite
import Glibc
import Threading
import TransferModel

/// The connections of one database: one that writes, and some that read the last commit in parallel.
///
/// A database in memory has one connection; reads wait for the running commit.
final class Database: Sendable {
    /// Most reads at a time.
    static let readers = 4

    private struct Pool {
        var idle: [Connection] = []
        /// All open connections, idle or lent.
        var open = 0
        /// Grows when the open connections are to be closed.
        var generation = 0
        var isClosed = false
    }

    /// nil for a database in memory.
    let path: String?
    private let writer: Guarded<Connection>
    private let pool = ConditionLock(Pool())

    /// - Parameter writer: of `path`, ready for use.
    init(_ writer: sending Connection, path: String?) {
        self.path = path
        self.writer = Guarded(writer)
    }

    /// Runs `body` on the writing connection, exclusively.
    func write<Value>(_ body: (Connection) throws -> Value) rethrows -> Value {
        try writer.withLock { try body($0) }
    }

    /// Runs `body` on the last commit; blocks while all readers are busy.
    /// - Throws: what `body` throws; `SQLiteError`.
    func read<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        guard let path else { return try readBesideNobody(body) }
        guard let (known, generation) = take() else { throw TransferError(.shuttingDown, "The store is closed.") }
        var lent: Connection?
        defer { giveBack(lent, generation) }
        let reader: Connection
        do {
            reader = try known ?? Self.reader(of: path)
        } catch let error as SQLiteError where error.primaryCode == SQLITE_CANTOPEN && access(path, F_OK) == 0 {
            // The process has no file descriptor left; the writing connection already has its own.
            return try readBesideNobody(body)
        }
        lent = reader
        return try reader.reading { try body(reader) }
    }

    /// Opens all files that reading needs: SQLite opens the log at the first read.
    private static func reader(of path: String) throws -> Connection {
        let connection = try Connection(path, isReadOnly: true)
        try connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
        return connection
    }

    /// On the writing connection, after the running commit.
    private func readBesideNobody<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        try write { connection in try connection.reading { try body(connection) } }
    }

    /// - Returns: a connection, or the right to open one; nil once the database is closed.
    private func take() -> (known: Connection?, generation: Int)? {
        pool.wait { pool -> (known: Connection?, generation: Int)?? in
            if pool.isClosed { return .some(nil) }
            if let known = pool.idle.popLast() { return (known, pool.generation) }
            guard pool.open < Self.readers else { return nil }
            pool.open += 1
            return (nil, pool.generation)
        }
    }

    /// - Parameter connection: nil if none could be opened.
    private func giveBack(_ connection: Connection?, _ generation: Int) {
        let isKept = pool.withLock { pool in
            guard let connection, !pool.isClosed, pool.generation == generation else {
                pool.open -= 1
                return false
            }
            pool.idle.append(connection)
            return true
        }
        if !isKept { connection?.close() }
        pool.signal()
    }

    /// Closes idle readers, and has the others closed when they are given back.
    private func closeReaders() {
        let idle = pool.withLock { pool in
            let idle = pool.idle
            pool.idle = []
            pool.open -= idle.count
            pool.generation += 1
            return idle
        }
        for connection in idle { connection.close() }
    }

    /// Releases the pages that SQLite keeps in memory; waits for the running write.
    func releaseMemory() {
        closeReaders()
        write { $0.releaseMemory() }
    }

    /// Closes everything; a reader that is busy keeps its connection until it is done.
    /// - Returns: whether no connection is open any more.
    func close() -> Bool {
        pool.withLock { $0.isClosed = true }
        pool.broadcast()
        closeReaders()
        write { $0.close() }
        return pool.withLock { $0.open == 0 }
    }
}
