import CLinux
import Glibc
import TransferModel

/// An open folder. Everything that delivery does is relative to its descriptor, so that a folder which somebody moves
/// or replaces by a symbolic link in the meantime does no harm.
package final class Folder: Sendable {
    /// As the client named it; for messages and stored paths only.
    package let path: String
    package let device: UInt64
    package let identity: FileIdentity
    private let descriptor: Descriptor
    private let entries = SharedSync()

    /// Room that must be free where nothing says how much is needed; the engine writes pieces of this size.
    package static let leastRoom = ByteCount.mebibytes(1)

    package var fileDescriptor: Int32 { descriptor.rawValue }

    package init(path: String, descriptor: Descriptor) throws(TransferError) {
        guard let status = FileKit.status(of: descriptor.rawValue) else {
            throw .destination(errno: errno, "open", path)
        }
        self.path = path
        self.descriptor = descriptor
        device = UInt64(status.st_dev)
        identity = FileIdentity(status)
    }

    /// Absolute path of `name` in this folder.
    package func path(of name: String) -> String {
        path.utf8.last == UInt8(ascii: "/") ? .joining(path, name) : .joining(path, "/", name)
    }

    /// Bytes that anybody may use in its file system; nil if it cannot be asked. Blocks.
    package var freeSpace: ByteCount? {
        let free = dld_free_space(fileDescriptor)
        return free < 0 ? nil : ByteCount(free)
    }

    /// What has this name, links not followed; nil if nothing has it.
    /// - Throws: `disk.*`, `destination.*` if that cannot be told: it may be there.
    package func status(of name: String) throws(TransferError) -> stat? {
        if let status = FileKit.status(of: name, in: fileDescriptor) { return status }
        guard errno == ENOENT else { throw .destination(errno: errno, "look at", path(of: name)) }
        return nil
    }

    /// - Throws: `disk.io` if the folder was removed since it was opened.
    package func requirePresent() throws(TransferError) {
        guard let status = FileKit.status(of: fileDescriptor), status.st_nlink == 0 else { return }
        throw TransferError(
            .diskIO,
            "The folder \(path) was removed during the download, and the bytes held with it. Create it again, and the task "
                + "resumes by itself; or choose another destination (task.update).", details: ["path": .string(path)])
    }

    /// Removes names that must not come back with the next boot; a disk that cannot promise that keeps nobody from
    /// going on.
    package func unlinkDurably(_ names: [String]) {
        var isChanged = false
        for name in names where unlinkat(fileDescriptor, name, 0) == 0 { isChanged = true }
        if isChanged { try? sync() }
    }

    /// Makes the folder's entries durable; if the folder itself cannot be synced, its whole file system is.
    /// - Parameter file: a file of the same file system, for a folder that may not be read.
    /// - Throws: `disk.*`.
    package func sync(besides file: Int32? = nil) throws(TransferError) {
        var (result, code) = retrying { fsync(fileDescriptor) }
        var readable: Descriptor?
        if result != 0, code == EBADF {
            // It only names the folder (O_PATH, open(2)).
            let (opened, cause) = retrying { openat(fileDescriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            if opened >= 0 {
                readable = Descriptor(opened)
                (result, code) = retrying { fsync(opened) }
            } else if file == nil {
                code = cause
            }
        }
        guard result != 0 else { return }
        switch code {
        case EBADF, EINVAL, EOPNOTSUPP:
            let (result, code) = retrying { dld_syncfs(file ?? readable?.rawValue ?? fileDescriptor) }
            if result != 0 { throw .destination(errno: code, "sync", path) }
        default: throw .destination(errno: code, "sync", path)
        }
    }

    /// As `sync`, shared with whoever else delivers into this folder just now.
    /// - Parameter file: stays open until `completion` is called.
    package func sync(
        besides file: Descriptor, in pool: BlockingPool,
        _ completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) {
        entries.join(post: { [device] in pool.post(on: device, $0) }) { [self] in
            Result { () throws(TransferError) in try sync(besides: file.rawValue) }
        } _: {
            completion($0)
        }
    }

    /// - Throws: `disk.io` if `path` leads here no more: a file delivered here would not be where it is said to be.
    func requireInPlace() throws(TransferError) {
        var there = stat()
        guard fstatat(AT_FDCWD, path, &there, 0) == 0, FileIdentity(there) == identity else {
            throw .targetAbsent(path, "the folder was moved or replaced")
        }
    }

    /// - Throws: `destination.not_writable`, also for a read-only file system; `disk.io` if the disk fails.
    package func requireWritable() throws(TransferError) {
        // An O_PATH descriptor is good for "." too.
        guard faccessat(fileDescriptor, ".", W_OK | X_OK, AT_EACCESS) == 0 else {
            let code = errno
            guard code == EROFS else { throw .destination(errno: code, "write in", path) }
            throw TransferError(
                .destinationNotWritable,
                "Cannot write in \(path): \(errorText(code)). Choose another folder, or remount the file system for writing.",
                details: ["path": .string(path), "errno": .integer(Int64(code))])
        }
    }
}
