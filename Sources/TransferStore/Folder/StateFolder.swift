import CLinux
import Glibc
import Threading
import TransferModel

/// The files of one store: creates the folder, holds the instance lock, and keeps everything private to the owner.
struct StateFolder: Sendable {
    let path: String
    var database: String { path + "/dld.sqlite" }
    /// The database's log.
    var log: String { database + "-wal" }
    /// The files of the database.
    var databaseFiles: [String] { [database, log, database + "-shm"] }
    var lock: String { path + "/lock" }
    var reserve: String { path + "/reserve" }
    /// Used by CurlEngine; made after the database, like the reserve.
    var journal: String { path + "/offsets.journal" }

    /// Creates missing folders with mode 0700.
    /// - Throws: `TransferError` that names the folder and the cause; `permission.denied` if others could replace the
    ///   daemon's files.
    func create() throws {
        var partial = path.hasPrefix("/") ? "" : "."
        for component in path.split(separator: "/") {
            let above = partial
            partial += "/" + component
            guard mkdir(partial, 0o700) != 0, errno != EEXIST else { continue }
            let code = errno
            guard fileStatus(partial) != nil else {
                if errno == EACCES { try requireOpen(above, X_OK, "x") }
                throw StoreFailure.system("Cannot create the state folder", path: partial, errno: code)
            }
        }
        if let info = fileStatus(path), info.st_mode & S_IFMT != S_IFDIR {
            throw StoreFailure.system("Cannot use the state folder", path: path, errno: ENOTDIR)
        }
        try requireUsable()
    }

    /// Whether `create` would succeed; changes nothing.
    /// - Throws: like `create`.
    func check() throws {
        if let info = fileStatus(path) {
            guard info.st_mode & S_IFMT == S_IFDIR else {
                throw StoreFailure.system("Cannot use the state folder", path: path, errno: ENOTDIR)
            }
            try requireUsable()
            return try requireFiles()
        }
        guard errno == ENOENT || errno == EACCES else {
            throw StoreFailure.system("Cannot create the state folder", path: path, errno: errno)
        }
        var info = stat()
        var above = path
        while stat(above, &info) != 0, let slash = above.lastIndex(of: "/"), above.count > 1 {
            above = slash > above.startIndex ? String(above[..<slash]) : "/"
        }
        guard access(above, W_OK | X_OK) == 0, info.st_mode & S_IFMT == S_IFDIR else {
            let code = info.st_mode & S_IFMT == S_IFDIR ? errno : ENOTDIR
            throw StoreFailure.system("Cannot create the state folder", path: path, errno: code)
        }
    }

    private func requireUsable() throws {
        try requireOpen(path, R_OK | W_OK | X_OK, "rwx")
        guard access(path, R_OK | W_OK | X_OK) == 0 else {
            throw StoreFailure.system("Cannot use the state folder", path: path, errno: errno)
        }
        try requireOwn()
    }

    /// Explains why a folder's mode keeps the daemon out.
    private func requireOpen(_ folder: String, _ rights: Int32, _ letters: String) throws {
        guard access(folder, rights) != 0, errno == EACCES, let info = fileStatus(folder) else { return }
        let place = folder == path ? "The state folder \(folder)" : "The folder \(folder) above the state folder"
        throw refusal(
            "\(place) is closed to user \(geteuid()): it belongs to user \(info.st_uid) and has the mode "
                + "\(Self.octal(info.st_mode)). Run chmod u+\(letters) on it, or name another state folder with --state-dir.",
            info, path: folder)
    }

    /// A user who may write in the folder may replace the database, whatever modes its files have.
    private func requireOwn() throws {
        guard let info = fileStatus(path) else {
            throw StoreFailure.system("Cannot use the state folder", path: path, errno: errno)
        }
        guard info.st_uid == geteuid() || info.st_uid == 0 else {
            throw refusal("The state folder \(path) belongs to user \(info.st_uid): name a folder of your own.", info)
        }
        guard info.st_mode & 0o022 == 0 else {
            throw refusal(
                "Other users may write in the state folder \(path) (mode \(Self.octal(info.st_mode))): look through it, "
                    + "then run chmod go-w on it.", info)
        }
    }

    private func refusal(_ message: String, _ info: stat, path place: String? = nil) -> TransferError {
        TransferError(
            .permissionDenied, message,
            details: [
                "path": .string(place ?? path), "mode": .string(Self.octal(info.st_mode)),
                "owner": .integer(Int64(info.st_uid)),
            ])
    }

    /// The mode if other users may list the folder; nil if they may not, or if it is not known.
    var listableMode: String? {
        fileStatus(path).flatMap { $0.st_mode & 0o044 != 0 ? Self.octal($0.st_mode) : nil }
    }

    private static func octal(_ mode: mode_t) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return "0" + String(repeating: "0", count: max(0, 3 - digits.count)) + digits
    }

    /// Whether the disk needs room for data that is rewritten in place.
    var copiesOnWrite: Bool {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        return dld_copies_on_write(descriptor) != 0
    }

    /// Whether there is a database without its log. SQLite removes a log only when it closes the database.
    var lacksLog: Bool {
        guard let info = fileStatus(database), info.st_size > 0 else { return false }
        return fileStatus(log, followsLinks: false) == nil && errno == ENOENT
    }

    /// SQLite waits for a fifo, and reports only a number for other things that are not files.
    /// - Throws: `TransferError` that names whatever is in the place of one of the database's files.
    func requireFiles() throws {
        for file in databaseFiles {
            guard let info = fileStatus(file, followsLinks: false), info.st_mode & S_IFMT != S_IFREG else { continue }
            throw TransferError(
                .diskIO, "\(file) is not a regular file, as the state database is; move it away, then start again.",
                retryable: false, details: ["path": .string(file)])
        }
    }

    /// Creates the database file empty with mode 0600, from which SQLite takes the mode of -wal and -shm
    /// (sqlite.org/wal.html); removes others' access from existing files.
    func prepareDatabaseFile() throws {
        let descriptor = open(database, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw StoreFailure.system("Cannot open the state database", path: database, errno: errno)
        }
        defer { Glibc.close(descriptor) }
        for file in databaseFiles {
            guard let info = fileStatus(file), info.st_mode & 0o077 != 0 else { continue }
            guard chmod(file, 0o600) == 0 else {
                throw StoreFailure.system("Cannot restrict access to the file", path: file, errno: errno)
            }
        }
    }
}

/// Holds `flock` on the lock file: one daemon per state folder. The kernel releases it when the process dies.
final class InstanceLock: Sendable {
    private let descriptor: Int32
    /// Whether the daemon that held it last had the database open when it ended.
    let wasOpen: Bool
    private let isOpen = Guarded(false)

    /// Attempts to get the lock of a daemon that died: 5 s with pauses of 20 ms.
    static let attempts = 250

    /// Changes nothing in an existing file; `note` says who holds the lock, once the folder is accepted.
    ///
    /// Waits up to 5 s if the daemon that is noted has died. A process that it was just starting (vfork(2)) has the lock
    /// too, and may end a moment later than the daemon.
    ///
    /// If it throws, `deinit` still runs and closes the descriptor: a second close here would close somebody else's.
    /// - Throws: `TransferError` `limit.reached` that names the pid of the holder.
    init(path: String, pause: () -> Void = { usleep(20_000) }) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        let refusal = errno
        wasOpen = descriptor >= 0 && Self.lines(descriptor).contains(Self.mark[...])
        guard descriptor >= 0 else {
            throw StoreFailure.system("Cannot open the lock", path: path, errno: refusal)
        }
        var (code, attempts) = (Self.lock(descriptor), 1)
        while code == EWOULDBLOCK, attempts < Self.attempts, Self.hasHolderDied(descriptor) {
            pause()
            (code, attempts) = (Self.lock(descriptor), attempts + 1)
        }
        guard code == 0 else {
            let (holder, sockets) = Self.holder(descriptor)
            guard code == EWOULDBLOCK else {
                throw StoreFailure.system("Cannot lock", path: path, errno: code)
            }
            throw TransferError(
                .limitReached,
                "Another dld (\(holder.map { "pid \($0)" } ?? "pid unknown")) uses this state folder"
                    + (sockets.isEmpty ? "" : " and listens on \(sockets.joined(separator: " and "))")
                    + "; talk to that one, stop it, or name another state folder with --state-dir. Lock: \(path)",
                details: [
                    "path": .string(path), "pid": holder.map { .integer(Int64($0)) } ?? .null,
                    "sockets": .array(sockets.map { .string($0) }),
                ])
        }
    }

    /// The file contains this line from when the database is opened until it is closed.
    private static let mark = "open"

    /// The database is open now, or was closed properly.
    func note(isOpen: Bool) {
        self.isOpen.withLock { $0 = isOpen }
        note(sockets: [])
    }

    /// Writes who holds the lock and where that daemon listens, for a daemon that is refused. The lock itself holds
    /// even if this cannot be written (a full disk).
    func note(sockets: [String]) {
        let mark = isOpen.withLock { $0 } ? Self.mark + "\n" : ""
        let text = "\(getpid())\n" + mark + sockets.map { $0 + "\n" }.joined()
        guard pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count else { return }
        _ = ftruncate(descriptor, off_t(text.utf8.count))
    }

    private static func lines(_ descriptor: Int32) -> [Substring] {
        var buffer = [UInt8](repeating: 0, count: 16384)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
    }

    private static func holder(_ descriptor: Int32) -> (pid: Int32?, sockets: [String]) {
        let lines = lines(descriptor)
        return (lines.first.flatMap { Int32($0) }, lines.dropFirst().filter { $0.hasPrefix("/") }.map(String.init))
    }

    /// - Returns: 0 or an error number.
    private static func lock(_ descriptor: Int32) -> Int32 { flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno }

    private static func hasHolderDied(_ descriptor: Int32) -> Bool {
        guard let pid = holder(descriptor).pid else { return false }
        return kill(pid, 0) != 0 && errno == ESRCH
    }

    func release() {
        _ = flock(descriptor, LOCK_UN)
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }
}
