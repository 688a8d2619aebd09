import CLinux
import CurlEngine
import FileKit
import FoundationEssentials
import Glibc
import TransferCore
import TransferModel

/// The open file that a task sends. It is proven to be the same as when the task was added.
struct SendingFile: Sendable {
    let file: UploadSource
    /// The identity that the task recorded. For a body that the store keeps, that is only the length.
    let identity: SourceIdentity

    /// Makes an unnamed file from a body kept in the store, so that it is streamed like any other.
    /// - Parameter folder: nil if the body may only be in memory.
    /// - Throws: `disk.*` if the state folder has no room for it.
    static func spooled(_ content: [UInt8], in folder: String?) throws(TransferError) -> SendingFile {
        let descriptor = try temporary(in: folder)
        let folder = folder ?? "memory"
        if let code = content.withUnsafeBytes({ writeAll($0, to: descriptor) }) {
            close(descriptor)
            throw unspooled(code, folder)
        }
        return SendingFile(
            file: try UploadSource.adopt(descriptor, path: "the kept body"),
            identity: SourceIdentity.kept(ByteCount(Int64(content.count))))
    }

    private static func temporary(in folder: String?) throws(TransferError) -> Int32 {
        guard let folder else {
            let descriptor = dld_memory_file()
            guard descriptor < 0 else { return descriptor }
            throw TransferError(.diskIO, "Cannot make a file in memory: \(errorText(errno)).")
        }
        let (descriptor, _) = retrying { Glibc.open(folder, DLD_O_TMPFILE | O_RDWR | O_CLOEXEC, 0o600) }
        if descriptor >= 0 { return descriptor }
        // Not every file system supports unnamed files.
        var template = Array("\(folder)/body-XXXXXX".utf8CString)
        let (named, code) = retrying { mkstemp(&template) }
        guard named >= 0 else {
            throw unspooled(code, folder)
        }
        unlink(template)
        _ = fcntl(named, F_SETFD, FD_CLOEXEC)
        return named
    }

    private static func unspooled(_ code: Int32, _ folder: String) -> TransferError {
        TransferError.disk(errno: code, "spool a body in", folder)
            ?? TransferError(.diskIO, "Cannot spool a body in \(folder): \(errorText(code)).")
    }

    /// Opens the file at its path.
    /// - Parameter recorded: its identity when the task was added.
    /// - Throws: `source.changed`, `source.unreadable`, `permission.denied`.
    static func open(
        _ path: String, as recorded: SourceIdentity?, _ access: FileAccess, owner: UserID
    ) throws(TransferError) -> SendingFile {
        let opened = try access.openForReading(path, owner: owner)
        let descriptor = fcntl(opened.fileDescriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .source(errno: errno, path) }
        let file = try UploadSource.adopt(descriptor, path: path)
        guard let recorded else {
            // The length sent must be the length announced.
            guard file.hasItsLength else {
                throw TransferError(
                    .sourceUnreadable,
                    "\(path) does not report its length, like files in /proc and /sys; copy it and send the copy.",
                    details: ["path": .string(path)])
            }
            return SendingFile(file: file, identity: file.identity)
        }
        guard recorded != file.identity else { return SendingFile(file: file, identity: file.identity) }
        throw TransferError(
            .sourceChanged,
            "\(path) is not what it was when the task was added (\(recorded.change(to: file.identity))); "
                + "nothing of the new version was sent; task.retry sourceChanged sends it as it is now.",
            details: ["path": .string(path)])
    }
}

/// Writes all of `bytes`.
/// - Returns: the error's number if that fails.
func writeAll(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: off_t = 0) -> Int32? {
    var done = 0
    while done < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
        let (count, code) = retrying { pwrite(file, rest.baseAddress, rest.count, offset + off_t(done)) }
        guard count > 0 else { return count == 0 ? ENOSPC : code }
        done += count
    }
    return nil
}

extension SourceIdentity {
    /// The identity of a body that the store keeps, which cannot change.
    static func kept(_ size: ByteCount) -> SourceIdentity {
        SourceIdentity(device: 0, inode: 0, size: size, modified: 0)
    }

    var isKept: Bool { inode == 0 && device == 0 }

    fileprivate func change(to other: SourceIdentity) -> String {
        if device != other.device || inode != other.inode { return "it is another file" }
        if size != other.size { return "it has \(other.size) bytes, not \(size)" }
        return "it was written to"
    }
}

extension TaskSpec {
    /// The body is in the store.
    var isBodyKept: Bool { body?.isKept ?? false }

    /// The spec for strategies. To them, a body that the store keeps is an unnamed file.
    var namingKeptBody: TaskSpec {
        guard isBodyKept else { return self }
        var spec = self
        spec.body?.file = "/"
        return spec
    }
}

extension RequestBody {
    fileprivate var isKept: Bool { self == RequestBody() }
}

extension Boxed<TaskSpec> {
    /// See `TaskSpec.namingKeptBody`.
    var namingKeptBody: Boxed {
        wrappedValue.body?.isKept == true ? Boxed(wrappedValue: wrappedValue.namingKeptBody) : self
    }
}

/// Computes the digests that a request carries.
enum PayloadHasher {
    /// Blocks: run it in a `BlockingPool`.
    /// - Throws: `cancelled`, `disk.io`.
    static func fields(
        of exchange: Exchange, _ sending: SendingFile?, isCancelled: () -> Bool
    ) throws(TransferError) -> [HeaderField] {
        var fields: [HeaderField] = []
        for digest in exchange.digests {
            let hasher = try FileHasher([digest.algorithm])
            switch digest.kind {
            case .content, .upload: try update(hasher, exchange.payload, sending, isCancelled)
            case .representation:
                try update(hasher, from: .zero, sending?.identity.size ?? .zero, sending, isCancelled)
            }
            guard let value = hasher.finish()[digest.algorithm].flatMap(Hex.decode) else { continue }
            fields.append(digest.field(value))
        }
        return fields
    }

    private static func update(
        _ hasher: FileHasher, _ payload: Payload, _ sending: SendingFile?, _ isCancelled: () -> Bool
    ) throws(TransferError) {
        switch payload {
        case .none: break
        case .bytes(let bytes): bytes.withUnsafeBytes { hasher.update($0) }
        case .source(let offset, let length): try update(hasher, from: offset, length, sending, isCancelled)
        case .framed(let head, let offset, let length, let tail):
            head.withUnsafeBytes { hasher.update($0) }
            try update(hasher, from: offset, length, sending, isCancelled)
            tail.withUnsafeBytes { hasher.update($0) }
        }
    }

    private static func update(
        _ hasher: FileHasher, from offset: ByteCount, _ length: ByteCount, _ sending: SendingFile?,
        _ isCancelled: () -> Bool
    ) throws(TransferError) {
        guard let sending else { return }
        try readAll(
            of: sending.file.fileDescriptor, path: sending.file.path, from: offset, length: length,
            isCancelled: isCancelled
        ) { hasher.update($0) }
    }
}
