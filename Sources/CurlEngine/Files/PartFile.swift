import CLinux
import Glibc
import Synchronization
import TransferModel

/// The hidden file beside the destination that a download grows in; its identity is what a resumption checks.
package final class PartFile: Sendable {
    package let path: String
    package let device: UInt64
    package let inode: UInt64
    package let fileDescriptor: Int32
    private let isOpen = Atomic<Bool>(true)
    private let hasBytes = Atomic<Bool>(false)

    private init(path: String, fileDescriptor: Int32, status: stat) {
        self.path = path
        self.fileDescriptor = fileDescriptor
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        hasBytes.store(status.st_size > 0, ordering: .relaxed)
    }

    deinit { close() }

    /// Creates the file (O_EXCL, O_NOFOLLOW; 0666 less the umask).
    ///
    /// With `directory` the last component of `path` is looked up in that open folder; `path` itself is only recorded.
    /// `replacing` first removes what has the name: a part of this task that no checkpoint speaks of.
    /// - Throws: disk.full, disk.quota, disk.io, destination.not_writable or destination.bad_path.
    package static func create(
        path: String, directory: Int32? = nil, replacing: Bool = false
    ) throws(TransferError) -> PartFile {
        let name = directory == nil ? path : lastComponent(path)
        let folder = directory ?? AT_FDCWD
        if replacing, unlinkat(folder, name, 0) != 0, errno != ENOENT {
            throw LocalFailure("unlink").transferError(path)
        }
        let descriptor = openat(folder, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, mode_t(0o666))
        guard descriptor >= 0 else { throw LocalFailure("open").transferError(path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let failure = LocalFailure("fstat")
            Glibc.close(descriptor)
            throw failure.transferError(path)
        }
        return PartFile(path: path, fileDescriptor: descriptor, status: status)
    }

    /// Opens the very file a checkpoint names: regular, one link, same device and inode, at least as long as it says.
    /// nil where it is not that file any more.
    /// - Throws: disk.io and its like where the file may be there but cannot be read.
    static func open(
        _ checkpoint: Checkpoint, directory: Int32?
    ) throws(TransferError) -> (part: PartFile, size: Int64)? {
        let name = directory == nil ? checkpoint.partPath : lastComponent(checkpoint.partPath)
        let descriptor = openat(directory ?? AT_FDCWD, name, O_NOFOLLOW | O_RDWR | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if [ENOENT, ELOOP, ENOTDIR, EISDIR, ENXIO].contains(errno) { return nil }
            throw LocalFailure("open").transferError(checkpoint.partPath)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
            UInt64(status.st_dev) == checkpoint.device, UInt64(status.st_ino) == checkpoint.inode,
            Int64(status.st_size) >= checkpoint.reach.rawValue, checkpoint.offset >= .zero
        else {
            Glibc.close(descriptor)
            return nil
        }
        let part = PartFile(path: checkpoint.partPath, fileDescriptor: descriptor, status: status)
        return (part, Int64(status.st_size))
    }

    /// Whether emptying the file would lose something.
    var mayHoldBytes: Bool { hasBytes.load(ordering: .relaxed) }
    func noteBytes() { hasBytes.store(true, ordering: .relaxed) }

    /// Cuts the file to `length`.
    package func truncate(to length: ByteCount) throws(TransferError) {
        guard ftruncate(fileDescriptor, off_t(length.rawValue)) == 0 else {
            throw LocalFailure("ftruncate").transferError(path)
        }
        if length <= .zero { hasBytes.store(false, ordering: .relaxed) }
    }

    /// fdatasync(2). After a failure the bytes since the last success must be written again: a second call would lie.
    package func sync() throws(TransferError) {
        guard fdatasync(fileDescriptor) == 0 else { throw LocalFailure("fdatasync").transferError(path) }
    }

    /// The descriptor is gone after this; nothing may use the part any more.
    package func close() {
        if isOpen.exchange(false, ordering: .acquiringAndReleasing) { Glibc.close(fileDescriptor) }
    }

    private static func lastComponent(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }
}
