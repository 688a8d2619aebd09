import Glibc
import TransferModel

/// Notices when the database is no longer where the next daemon will look for it: its folder was removed or moved away,
/// or another one is mounted over it. SQLite would continue in files without a name, and acknowledged changes would be
/// lost.
struct DatabasePlace: Sendable {
    let path: String
    private let device: dev_t
    private let inode: ino_t

    /// - Throws: `disk.io` if there is no file at `path`.
    init(_ path: String) throws {
        var info = stat()
        guard stat(path, &info) == 0 else {
            throw StoreFailure.system("Cannot find the state database", path: path, errno: errno)
        }
        self.path = path
        device = info.st_dev
        inode = info.st_ino
    }

    /// Whether the database is certainly not there; a disk that does not answer proves nothing.
    var isElsewhere: Bool {
        var info = stat()
        guard stat(path, &info) == 0 else { return errno == ENOENT || errno == ENOTDIR }
        return info.st_dev != device || info.st_ino != inode
    }

    /// Why a daemon ends in that case.
    var moved: TransferError {
        TransferError(
            .diskIO,
            """
            \(path) is no longer the database that this dld opened: the state folder was moved, removed or replaced. This dld \
            ends, and the next one serves what is at that path then. To go on with the old queue, put the folder back first.
            """,
            details: ["path": .string(path)])
    }

    /// - Throws: `disk.io` if another file, or none, is there now.
    func check() throws {
        var info = stat()
        guard stat(path, &info) == 0, info.st_dev == device, info.st_ino == inode else {
            throw TransferError(
                .diskIO,
                "\(path) was removed, or replaced while dld runs. Put it back, then restart dld.",
                details: ["path": .string(path)])
        }
    }
}
