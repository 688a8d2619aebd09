import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel

/// An open folder. All steps of delivery are relative to its descriptor, so it does no harm if somebody moves the
/// folder or replaces it with a symbolic link meanwhile.
package final class Folder: Sendable {
    /// As the client named it; only for messages and stored paths.
    package let path: String
    package let device: UInt64
    package let identity: FileIdentity
    package let names: NameLimits
    private let descriptor: Descriptor
    private let entries = SharedSync()

    /// The space that must be free if the need is unknown. The engine writes pieces of this size.
    package static let leastRoom = ByteCount.mebibytes(1)

    package var fileDescriptor: Int32 { descriptor.rawValue }

    /// - Parameter names: only tests give other limits than those of the file system.
    package init(path: String, descriptor: Descriptor, names: NameLimits? = nil) throws(TransferError) {
        guard let status = FileKit.status(of: descriptor.rawValue) else {
            throw .destination(errno: errno, "open", path)
        }
        self.path = path
        self.descriptor = descriptor
        device = UInt64(status.st_dev)
        identity = FileIdentity(status)
        self.names = names ?? NameLimits(of: descriptor.rawValue)
    }

    /// The absolute path of `name` in this folder.
    package func path(of name: String) -> String {
        path.utf8.last == UInt8(ascii: "/") ? .joining(path, name) : .joining(path, "/", name)
    }

    /// The bytes that unprivileged users may use in its file system; nil if unknown. Blocks.
    package var freeSpace: ByteCount? {
        let free = dld_free_space(fileDescriptor)
        return free < 0 ? nil : ByteCount(free)
    }

    /// The status of the file with this name, without following links; nil if there is none.
    /// - Throws: `disk.*`, `destination.*` if that cannot be determined: the file may exist.
    package func status(of name: String) throws(TransferError) -> stat? {
        if let status = FileKit.status(of: name, in: fileDescriptor) { return status }
        guard errno == ENOENT else { throw .destination(errno: errno, "look at", path(of: name)) }
        return nil
    }

    /// Opens a file for reading, without following links; nil if that fails.
    /// - Throws: `disk.*`.
    func open(_ name: String) throws(TransferError) -> Descriptor? {
        let (descriptor, code) = retrying {
            openat(fileDescriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        if descriptor >= 0 { return Descriptor(descriptor) }
        if let disk = TransferError.disk(errno: code, "open", path(of: name)) { throw disk }
        return nil
    }

    /// The stream of its entries, which the caller closes; nil if it cannot be read.
    func listing() -> OpaquePointer? {
        let descriptor = openat(fileDescriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let stream = fdopendir(descriptor)
        if stream == nil { close(descriptor) }
        return stream
    }

    /// Whether the folder has at most `most` entries, all of them files or symbolic links; false if that is not known.
    func hasOnlyFiles(atMost most: Int) -> Bool {
        guard let stream = listing() else { return false }
        defer { closedir(stream) }
        var left = most + 2
        errno = 0
        while let entry = readdir(stream) {
            // An entry has only as many bytes as its name needs, so `d_name` must not be copied.
            let isItself =
                entry.pointee.d_name.0 == dot
                && (entry.pointee.d_name.1 == 0 || entry.pointee.d_name.1 == dot && entry.pointee.d_name.2 == 0)
            let isFile = entry.pointee.d_type == UInt8(DT_REG) || entry.pointee.d_type == UInt8(DT_LNK)
            guard isItself || isFile, left > 0 else { return false }
            left -= 1
        }
        return errno == 0
    }

    /// - Throws: `disk.io` if the folder was removed since it was opened.
    package func requirePresent() throws(TransferError) {
        guard let status = FileKit.status(of: fileDescriptor), status.st_nlink == 0 else { return }
        throw TransferError(
            .diskIO,
            "The folder \(path) was removed during the download, and the bytes held with it. Create it again, and the task "
                + "resumes by itself; or choose another destination (task.update).",
            details: ["path": .string(path), FolderFault.member: .string(FolderFault.missing.rawValue)])
    }

    /// Removes names that must not come back after the next boot. A disk that cannot make this durable does not stop
    /// the caller.
    package func unlinkDurably(_ names: [String]) {
        var isChanged = false
        for name in names where unlinkat(fileDescriptor, name, 0) == 0 { isChanged = true }
        if isChanged { try? sync() }
    }

    /// Makes the folder's entries durable. If the folder itself cannot be synced, its whole file system is synced.
    /// - Parameter file: a file of the same file system, for a folder that may not be read.
    /// - Throws: `disk.*`.
    package func sync(besides file: Int32? = nil) throws(TransferError) {
        var (result, code) = retrying { Durations.fileSyncs.measure { fsync(fileDescriptor) } }
        var readable: Descriptor?
        if result != 0, code == EBADF {
            // The descriptor only names the folder (O_PATH, open(2)).
            let (opened, cause) = retrying { openat(fileDescriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            if opened >= 0 {
                readable = Descriptor(opened)
                (result, code) = retrying { Durations.fileSyncs.measure { fsync(opened) } }
            } else if file == nil {
                code = cause
            }
        }
        guard result != 0 else { return }
        switch code {
        case EBADF, EINVAL, EOPNOTSUPP:
            let any = file ?? readable?.rawValue ?? fileDescriptor
            let (result, code) = retrying { Durations.fileSyncs.measure { dld_syncfs(any) } }
            if result != 0 { throw .destination(errno: code, "sync", path) }
        default: throw .destination(errno: code, "sync", path)
        }
    }

    /// Like `sync`, but shared with other deliveries into this folder at the same time.
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

    /// - Throws: `disk.io` if `path` does not lead to this folder any more: a delivered file would not be where it is
    ///   reported to be.
    func requireInPlace() throws(TransferError) {
        var there = stat()
        guard fstatat(AT_FDCWD, path, &there, 0) == 0, FileIdentity(there) == identity else {
            let now = presentPath.map { "; it is now \($0), and the task's part file with it" } ?? ""
            throw .targetAbsent(path, "the folder was moved or replaced" + now, .moved)
        }
    }

    /// The path at which the open folder is now (proc_pid_fd(5)); nil if it is removed, or not known.
    private var presentPath: String? {
        var status = stat()
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/fd/\(fileDescriptor)", &buffer, buffer.count)
        guard count > 0, count < buffer.count,
            let found = String(validating: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self),
            stat(found, &status) == 0, FileIdentity(status) == identity
        else { return nil }
        return found
    }

    /// - Throws: `destination.not_writable`, also for a read-only file system; `disk.io` if the disk fails.
    package func requireWritable() throws(TransferError) {
        // "." also works with an O_PATH descriptor.
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

private let dot = CChar(UInt8(ascii: "."))

extension NameLimits {
    /// The limits of the file system of an open file or folder. Blocks.
    init(of descriptor: Int32) {
        var areWindows: Int32 = 0
        let length = Int(dld_longest_name(descriptor, &areWindows))
        self.init(areWindows: areWindows != 0)
        // FAT and exFAT give a multiple of their limit.
        if length >= PartName.longest { longest = min(length, longest) }
    }
}
