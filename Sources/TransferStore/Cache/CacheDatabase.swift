import CSQLite
import Glibc
import TransferModel

/// The cache's own database. Nothing in it is synced and nothing relies on it: a database that cannot be used is
/// replaced by an empty one. Used by one thread.
final class CacheDatabase {
    /// Bodies of this length or more have a file of their own.
    static let longBody = 16 << 10

    private let folder: CacheFolder
    private let connection: Connection
    private let identity: (dev_t, ino_t)
    private var usage: [CachePlace: CacheUsage] = [:]
    /// Bytes of all storages of an owner.
    private var owners: [UserID: Int] = [:]
    /// Orders uses; increases with each.
    private var clock: Int64 = 0
    /// Records with files that the running transaction removes.
    private var leaving: [Int64] = []

    /// The largest size and the latest use. Larger numbers are damage, and their sums could overflow.
    private static let mostNumber = 1 << 53

    private static let schema = """
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL, storage TEXT NOT NULL, url TEXT NOT NULL,
            selection TEXT NOT NULL, head TEXT NOT NULL, asked INTEGER NOT NULL, answered INTEGER NOT NULL,
            length INTEGER NOT NULL, size INTEGER NOT NULL CHECK (size BETWEEN 0 AND \(mostNumber)),
            crc INTEGER NOT NULL, used INTEGER NOT NULL CHECK (used BETWEEN 0 AND \(mostNumber)), body BLOB,
            UNIQUE (owner, storage, url, selection)
        ) STRICT;
        CREATE INDEX entry_used ON entry (owner, storage, used, size);
        CREATE INDEX entry_of_owner ON entry (owner, used, size);
        CREATE TABLE state (boot TEXT NOT NULL) STRICT;
        INSERT INTO state VALUES ('');
        PRAGMA user_version = 3;
        """

    /// Opens the existing database; starts empty if that is unusable.
    /// - Parameter boot: identifies the boot of the machine; nil if it is not known.
    /// - Throws: `TransferError`, `SQLiteError` if no cache is possible.
    convenience init(_ folder: CacheFolder, boot: String?, _ lost: (String) -> Void = { _ in }) throws {
        do {
            try self.init(opening: folder, boot)
        } catch {
            lost("\(error)")
            folder.clear()
            try self.init(opening: folder, boot)
        }
    }

    private init(opening folder: CacheFolder, _ boot: String?) throws {
        self.folder = folder
        try folder.create()
        connection = try Connection(folder.database, patience: 0)
        try connection.execute(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -512"
        )
        // A log would hold everything a second time, beyond the capacity. This journal is empty between two changes.
        guard try connection.text("PRAGMA journal_mode = TRUNCATE") == "truncate" else {
            throw SQLiteError(SQLITE_ERROR, "It has no journal.")
        }
        switch try connection.integer("PRAGMA user_version") ?? 0 {
        case 0: try connection.execute(Self.schema)
        case 3: break
        case let other: throw SQLiteError(SQLITE_MISMATCH, "Its form is \(other).")
        }
        guard let identity = folder.identity else { throw SQLiteError(SQLITE_CANTOPEN, "It is gone.") }
        self.identity = identity
        let sums = try connection.rows(
            """
            SELECT owner, storage, sum(size), count(*), min(size), min(used), max(used) FROM entry GROUP BY owner, storage
            """)
        while let row = try sums.next() {
            let numbers: [Int] = [row[2], row[4], row[5], row[6]]
            guard numbers.allSatisfy((0...Self.mostNumber).contains) else {
                throw SQLiteError(SQLITE_CORRUPT, "Its numbers are damaged.")
            }
            count(row[2], row[3], in: CachePlace(row[0], row[1]))
            clock = max(clock, row[6])
        }
        try begin(boot)
        try sweep()
    }

    /// Notes which boot writes to the database. What it writes may not reach the disk, or only in part, so the next boot
    /// may not know what is out of date. It uses the database only if that was closed.
    private func begin(_ boot: String?) throws {
        let last = try connection.text("SELECT boot FROM state")
        guard last == "" || last != nil && last == boot else {
            throw SQLiteError(SQLITE_MISMATCH, "The machine has stopped while it was in use.")
        }
        guard last == "" else { return }
        try connection.execute("PRAGMA synchronous = FULL")
        try note(boot ?? "unknown")
        try connection.execute("PRAGMA synchronous = OFF")
    }

    private func note(_ boot: String) throws { try connection.execute("UPDATE state SET boot = ?", boot) }

    /// Removes files without a record, left by a daemon that died before it committed.
    private func sweep() throws {
        for name in folder.names() {
            let isKnown = try Int64(name).map {
                try connection.integer("SELECT 1 FROM entry WHERE id = ? AND body IS NULL", $0) != nil
            }
            if isKnown != true { folder.remove(name) }
        }
    }

    /// Whether the next daemon would still open this database.
    var isInPlace: Bool { folder.identity.map { $0 == identity } ?? false }

    func close() { connection.close() }

    /// Closes the database after everything in it has reached the disk, so that the next boot can use it.
    func finish() throws {
        defer { close() }
        // The journal takes the note back unless the whole database was synced.
        try connection.execute("PRAGMA synchronous = FULL")
        try note("")
    }

    func usage(of owner: UserID) -> [String: CacheUsage] {
        var found: [String: CacheUsage] = [:]
        for (place, usage) in usage where place.owner == owner { found[place.storage] = usage }
        return found
    }

    /// Runs `body` in one transaction; files of removed records are removed after it.
    func change(_ body: () throws -> Void) throws {
        let (before, ownersBefore) = (usage, owners)
        leaving = []
        do {
            try connection.writing {
                try body()
                return true
            }
        } catch {
            (usage, owners) = (before, ownersBefore)
            throw error
        }
        for id in leaving { folder.remove(id) }
    }

    // MARK: Reading

    /// The record that `choose` picks among those of the URL, without seeing their bodies; nil if it picks none, or a
    /// damaged one.
    func find(_ place: CachePlace, _ url: String, _ choose: ([CacheRecord]) -> Int?) throws -> CacheRecord? {
        var records: [(id: Int64, length: Int, crc: Int64, record: CacheRecord)] = []
        let rows = try connection.rows(
            """
            SELECT id, selection, head, asked, answered, length, crc FROM entry WHERE owner = ? AND storage = ? AND url = ?
            """, place.owner, place.storage, url)
        while let row = try rows.next() {
            let record = CacheRecord(
                url: url, selection: row[1], head: row[2], requestTime: row[3], responseTime: row[4])
            records.append((row[0], row[5], row[6], record))
        }
        guard let index = choose(records.map(\.record)), records.indices.contains(index) else { return nil }
        var (id, length, crc, record) = records[index]
        guard let body = try body(id, length) else {
            try change { try remove([id], of: place) }
            return nil
        }
        record.body = body
        guard Int64(record.checksum(in: place)) == crc else {
            try change { try remove([id], of: place) }
            return nil
        }
        return record
    }

    private func body(_ id: Int64, _ length: Int) throws -> [UInt8]? {
        guard length < Self.longBody else { return folder.read(id, length: length) }
        guard let row = try connection.rows("SELECT body FROM entry WHERE id = ?", id).next() else { return nil }
        let bytes: [UInt8] = row[0] ?? []
        return bytes.count == length ? bytes : nil
    }

    // MARK: Changes, inside `change`

    /// - Parameters:
    ///   - capacity: bytes of this storage; least recently used records are evicted.
    ///   - ownersMost: bytes of all storages of the owner.
    func put(_ record: CacheRecord, in place: CachePlace, capacity: Int, ownersMost: Int) throws {
        try remove(place, record.url, record.selection)
        let isLong = record.body.count >= Self.longBody
        clock += 1
        try connection.execute(
            """
            INSERT INTO entry (owner, storage, url, selection, head, asked, answered, length, size, crc, used, body) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            place.owner, place.storage, record.url, record.selection, record.head, record.requestTime,
            record.responseTime, record.body.count, record.size, Int64(record.checksum(in: place)), clock,
            isLong ? nil : record.body)
        if isLong { try folder.write(record.body, connection.lastInsertedRow) }
        count(record.size, 1, in: place)
        try dropVariants(place, record.url)
        try fit(place.owner, place.storage, capacity)
        try fit(place.owner, nil, ownersMost)
    }

    /// Evicts the least recently used records of a storage; without one of the whole owner, from any storage, including
    /// those of ended sessions.
    private func fit(_ owner: UserID, _ storage: String?, _ most: Int) throws {
        let condition = storage == nil ? "" : " AND storage = ?"
        func held() -> Int { storage.map { used(CachePlace(owner, $0)) } ?? owners[owner] ?? 0 }
        while held() > max(0, most) {
            let oldest: [(Int64, Int, String)] = try connection.rows(
                "SELECT id, size, storage FROM entry WHERE owner = ?\(condition) ORDER BY used LIMIT 64",
                owner, storage
            ).map { ($0[0], $0[1], $0[2]) }
            guard !oldest.isEmpty else { return }
            var rest = held()
            for (id, size, storage) in oldest where rest > max(0, most) {
                try remove([id], of: CachePlace(owner, storage))
                rest -= size
            }
        }
    }

    private func used(_ place: CachePlace) -> Int { usage[place]?.bytes ?? 0 }

    private func count(_ bytes: Int, _ entries: Int, in place: CachePlace) {
        var new = usage[place] ?? CacheUsage()
        new.bytes += bytes
        new.entries += entries
        usage[place] = new.entries > 0 ? new : nil
        owners[place.owner, default: 0] += bytes
    }

    private func dropVariants(_ place: CachePlace, _ url: String) throws {
        try remove(
            connection.rows(
                """
                SELECT id FROM entry WHERE owner = ? AND storage = ? AND url = ? ORDER BY used DESC LIMIT -1 OFFSET ?
                """, place.owner, place.storage, url, Bounds.cacheVariants
            ).map { $0[0] }, of: place)
    }

    /// Notes that a record was used.
    func touch(_ place: CachePlace, _ url: String, _ selection: String) throws {
        clock += 1
        try connection.execute(
            "UPDATE entry SET used = ? WHERE owner = ? AND storage = ? AND url = ? AND selection = ?", clock,
            place.owner, place.storage, url, selection)
    }

    /// Removes the records that satisfy all given conditions.
    /// - Parameters:
    ///   - storage: nil for all of the owner's.
    ///   - since: stored at or after this, in seconds since 1970.
    /// - Returns: how many there were.
    @discardableResult
    func remove(_ owner: UserID, _ storage: String?, url: String? = nil, since: Int64? = nil) throws -> Int {
        var count = 0
        for place in usage.keys where place.owner == owner && storage.map({ $0 == place.storage }) ?? true {
            let ids: [Int64] = try connection.rows(
                "SELECT id FROM entry WHERE owner = ? AND storage = ? AND (? IS NULL OR url = ?) AND answered >= ?",
                owner, place.storage, url, url, since ?? .min
            ).map { $0[0] }
            try remove(ids, of: place)
            count += ids.count
        }
        return count
    }

    private func remove(_ place: CachePlace, _ url: String, _ selection: String) throws {
        try remove(
            connection.rows(
                "SELECT id FROM entry WHERE owner = ? AND storage = ? AND url = ? AND selection = ?",
                place.owner, place.storage, url, selection
            ).map { $0[0] }, of: place)
    }

    private func remove(_ ids: [Int64], of place: CachePlace) throws {
        for id in ids {
            let rows = try connection.rows("SELECT size, body IS NULL FROM entry WHERE id = ?", id)
            guard let row = try rows.next() else { continue }
            count(-(row[0] as Int), -1, in: place)
            if row[1] as Bool { leaving.append(id) }
            try connection.execute("DELETE FROM entry WHERE id = ?", id)
        }
    }
}
