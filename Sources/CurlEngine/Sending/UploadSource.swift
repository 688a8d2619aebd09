import CLinux
import Glibc
import TransferModel

/// The file that an upload reads: opened once, and identified by what must not change, so that two versions are never
/// sent as one.
///
/// The descriptor closes with the last reference: a reader thread that hangs on a disk keeps it open.
package final class UploadSource: Sendable {
    package let path: String
    /// Its identity when it was opened.
    package let identity: SourceIdentity
    package let fileDescriptor: Int32

    private init(path: String, identity: SourceIdentity, fileDescriptor: Int32) {
        self.path = path
        self.identity = identity
        self.fileDescriptor = fileDescriptor
    }

    deinit { close(fileDescriptor) }

    /// Opens a regular file. Blocks on a slow disk.
    /// - Throws: source.unreadable.
    package static func open(path: String, directory: Int32? = nil) throws(TransferError) -> UploadSource {
        let descriptor = openat(directory ?? AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw unreadable(path, String(cString: strerror(errno))) }
        return try adopt(descriptor, path: path)
    }

    /// Takes over an open descriptor, and closes it if this throws; `path` is only for messages.
    /// - Throws: source.unreadable if it is not a regular file.
    package static func adopt(_ descriptor: Int32, path: String) throws(TransferError) -> UploadSource {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw unreadable(path, reason)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw unreadable(path, "it is not a regular file")
        }
        return UploadSource(path: path, identity: SourceIdentity(status), fileDescriptor: descriptor)
    }

    /// Whether reading ends at the length that the file reports: files of /proc report 0 bytes and files of /sys a
    /// whole page, whatever they contain. Blocks on a slow disk.
    package var hasItsLength: Bool { Self.hasItsLength(fileDescriptor, identity.size.rawValue) }

    /// Source: https://docs.kernel.org/filesystems/proc.html, https://docs.kernel.org/filesystems/sysfs.html
    static func hasItsLength(_ file: Int32, _ length: Int64) -> Bool {
        var byte: UInt8 = 0
        if length == 0 { return pread(file, &byte, 1, 0) <= 0 }
        return pread(file, &byte, 1, off_t(length - 1)) != 0
    }

    /// The open file's identity now; nil if the file system does not tell.
    package func identityNow() -> SourceIdentity? {
        var status = stat()
        return fstat(fileDescriptor, &status) == 0 ? SourceIdentity(status) : nil
    }

    /// Reads bytes that are in the page cache, and never waits for a disk or a server.
    /// - Returns: how many, of the version that was opened; 0 if the file is no longer that one. nil if they are on the
    ///   disk, or this file system cannot tell without waiting.
    func readCached(into target: UnsafeMutableRawPointer, _ count: Int, at offset: Int64) -> Int? {
        let got = dld_read_cached(fileDescriptor, target, count, offset)
        var status = stat()
        guard got >= 0, dld_stat_cached(fileDescriptor, &status) == 0 else { return nil }
        // After the read: a write in the meantime shows in size or time.
        return SourceIdentity(status) == identity ? got : 0
    }

    /// source.changed, for this file.
    package func changed() -> TransferError {
        TransferError(
            .sourceChanged,
            "\(path) changed since its upload began, which ended there; task.retry sourceChanged sends it as it is now.",
            details: ["path": .string(path)])
    }

    private static func unreadable(_ path: String, _ reason: String) -> TransferError {
        TransferError(
            .sourceUnreadable, "\(path) cannot be read: \(reason).", details: ["path": .string(path)])
    }
}

extension SourceIdentity {
    init(_ status: stat) {
        self.init(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: ByteCount(Int64(status.st_size)),
            // Only compared: for dates after the year 2262, which file systems accept, the low bits suffice.
            modified: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec))
    }
}
