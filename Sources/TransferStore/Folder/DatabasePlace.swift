import Glibc
import TransferModel

/// Notices when the database, its log or the lock is no longer where the next daemon will look for it: their folder was
/// removed or moved away, another one is mounted over it, or a file was removed. SQLite would continue in files without a
/// name, and acknowledged changes would be lost; without the lock, two daemons would use one database.
struct DatabasePlace: Sendable {
    let path: String
    private let database: Identity
    /// nil if SQLite had not created it yet.
    private let log: Identity?
    private let lockPath: String
    private let lock: Identity?

    /// A file, whatever its name is.
    private struct Identity: Hashable {
        var device: dev_t
        var inode: ino_t
    }

    /// To be called when the database is open: SQLite then keeps its log until it is closed.
    /// - Throws: `disk.io` if there is no file at `path`.
    init(_ path: String, lock: String) throws {
        guard let database = Self.look(path).identity else {
            throw StoreFailure.system("Cannot find the state database", path: path, errno: errno)
        }
        (self.path, lockPath) = (path, lock)
        self.database = database
        log = Self.look(Self.log(of: path)).identity
        self.lock = Self.look(lock).identity
    }

    /// - Returns: what is there; whether certainly nothing is: a disk that does not answer proves nothing.
    private static func look(_ path: String) -> (identity: Identity?, isMissing: Bool) {
        guard let info = fileStatus(path) else { return (nil, errno == ENOENT || errno == ENOTDIR) }
        return (Identity(device: info.st_dev, inode: info.st_ino), false)
    }

    private static func log(of path: String) -> String { path + "-wal" }

    /// The files to watch.
    var paths: [String] {
        [path] + (log == nil ? [] : [Self.log(of: path)]) + (lock == nil ? [] : [lockPath])
    }

    /// Why the daemon has to end: one of the files is certainly not there. nil if all are, or may be. May block.
    var loss: TransferError? {
        if isElsewhere(path, database) {
            return ended(
                path,
                """
                is no longer the database that this dld opened: the state folder was moved, removed or replaced. This dld \
                ends, and the next one serves what is at that path then. To go on with the old queue, put the folder back first.
                """)
        }
        if let loss = lossOfLog { return loss }
        guard isElsewhere(lockPath, lock) else { return nil }
        return ended(
            lockPath,
            """
            was removed or replaced, and another dld could use this state folder at the same time. This dld ends. Then start \
            dld again.
            """)
    }

    private var lossOfLog: TransferError? {
        guard isElsewhere(Self.log(of: path), log) else { return nil }
        return ended(
            Self.log(of: path),
            """
            was removed or replaced. This dld ends, and moves what that log held into the database. Then start dld again.
            """)
    }

    private func isElsewhere(_ path: String, _ identity: Identity?) -> Bool {
        guard let identity else { return false }
        let now = Self.look(path)
        return now.isMissing || now.identity.map { $0 != identity } ?? false
    }

    private func ended(_ path: String, _ reason: String) -> TransferError {
        TransferError(.diskIO, "\(path) \(reason)", details: ["path": .string(path)])
    }

    /// - Throws: `disk.io` if another database, or none, is there now, or if its log is gone.
    func check() throws {
        guard Self.look(path).identity == database else {
            throw TransferError(
                .diskIO,
                "\(path) was removed, or replaced while dld runs. Put it back, then restart dld.",
                details: ["path": .string(path)])
        }
        if let lossOfLog { throw lossOfLog }
    }
}
