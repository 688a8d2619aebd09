import CLinux
import Glibc
import Threading
import TransferModel

/// Renames a complete part file to its final name. The file is verified and durable there, or not there at all.
///
/// Every call is relative to the folder's descriptor. Delivery is idempotent: after a crash between the rename and the
/// store's commit, the file under the final name is recognised by device and inode. All calls block: run them in a
/// `BlockingPool`.
package struct Delivery: Sendable {
    package var folder: Folder
    /// The name of the part file in `folder`.
    package var partName: String
    package var part: FileIdentity
    /// The wanted final name.
    package var name: String
    package var policy: ConflictPolicy
    /// In seconds since 1970; set if the file gets the server's time.
    package var modificationTime: Int64?
    /// `relaxed` syncs neither the file nor the folder.
    package var durability = Durability.full

    /// - Throws: `destination.bad_path` for a name that no file can have.
    package init(
        folder: Folder, partName: String, part: FileIdentity, name: String, policy: ConflictPolicy,
        modificationTime: Int64? = nil, durability: Durability = .full
    ) throws(TransferError) {
        try PathRules.requireName(name)
        self.folder = folder
        self.partName = partName
        self.part = part
        self.name = name
        self.policy = policy
        self.modificationTime = modificationTime
        self.durability = durability
    }

    /// Renames the part file to its final name, and makes file and folder durable.
    /// - Throws: `destination.exists` (policy `fail`), `destination.bad_path` (a folder has the name and must not be
    ///   replaced), `disk.*`; `disk.io` if the part file is another file, or the folder is in another place.
    package func deliver() throws(TransferError) -> DeliveredFile {
        let (delivered, file) = try place()
        if let file { try folder.sync(besides: file.rawValue) }
        return delivered
    }

    /// Like `deliver`, but if a file is returned, the folder must still be synced.
    package func place() throws(TransferError) -> (delivered: DeliveredFile, unsynced: Descriptor?) {
        if let done = try recognised() { return (done, nil) }
        try folder.requireInPlace()
        let file = try openPart()
        try file.stampAndSync(modificationTime, durability, path: folder.path(of: partName))
        let final = try move()
        return (try delivered(file, as: final), durability.isSynced ? file : nil)
    }

    // MARK: - Steps

    private func openPart() throws(TransferError) -> Descriptor {
        let path = folder.path(of: partName)
        let (descriptor, code) = retrying {
            openat(folder.fileDescriptor, partName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard descriptor >= 0 else { throw .targetAbsent(path, "the part file cannot be opened: \(errorText(code))") }
        let file = Descriptor(descriptor)
        guard let status = FileKit.status(of: descriptor), isRegular(status), FileIdentity(status) == part else {
            throw .targetAbsent(path, "the part file was replaced")
        }
        return file
    }

    private func move() throws(TransferError) -> String {
        if policy == .overwrite {
            try folder.rename(partName, over: name)
            return name
        }
        for candidate in folder.candidates(for: name, policy) {
            if try moveWithoutReplacing(to: candidate) { return candidate }
        }
        throw folder.taken(name, policy)
    }

    /// Returns false if the name is taken.
    private func moveWithoutReplacing(to candidate: String) throws(TransferError) -> Bool {
        let directory = folder.fileDescriptor
        let (result, code) = retrying { dld_rename_noreplace(directory, partName, directory, candidate) }
        if result == 0 { return true }
        switch code {
        case EEXIST: return false
        case EINVAL, ENOSYS, EOPNOTSUPP: return try linkAndUnlink(to: candidate)
        default: throw .destination(errno: code, "deliver", folder.path(of: candidate))
        }
    }

    /// For file systems without RENAME_NOREPLACE (NFS, some FUSE).
    func linkAndUnlink(to candidate: String) throws(TransferError) -> Bool {
        let directory = folder.fileDescriptor
        let (result, code) = retrying { linkat(directory, partName, directory, candidate, 0) }
        if result == 0 {
            guard unlinkat(directory, partName, 0) == 0 || errno == ENOENT else {
                throw .destination(errno: errno, "deliver", folder.path(of: candidate))
            }
            return true
        }
        switch code {
        case EEXIST: return false
        case EPERM, EOPNOTSUPP, ENOSYS, EMLINK: return try renameWhereFree(to: candidate)
        default: throw .destination(errno: code, "deliver", folder.path(of: candidate))
        }
    }

    /// For file systems that support neither (some FUSE): the name is checked just before the rename.
    private func renameWhereFree(to candidate: String) throws(TransferError) -> Bool {
        let directory = folder.fileDescriptor
        if try folder.status(of: candidate) != nil { return false }
        let (result, code) = retrying { renameat(directory, partName, directory, candidate) }
        if result != 0 { throw .destination(errno: code, "deliver", folder.path(of: candidate)) }
        return true
    }

    /// Reads the status after the last change, because a rename changes it too.
    private func delivered(_ file: Descriptor, as name: String) throws(TransferError) -> DeliveredFile {
        guard let status = FileKit.status(of: file.rawValue) else {
            throw .destination(errno: errno, "deliver", folder.path(of: name))
        }
        let mark = FileMark(inode: UInt64(status.st_ino), changed: nanoseconds(status.st_ctim))
        return DeliveredFile(
            path: folder.path(of: name), name: name, bytes: ByteCount(Int64(status.st_size)), mark: mark)
    }

    // MARK: - After a crash

    /// Returns the file under its final name if an earlier delivery got that far, and removes a second link that it
    /// left.
    /// - Parameter expected: the required size, if known.
    /// - Throws: `disk.*`, `destination.*` if that cannot be determined or made durable.
    package func recognised(expected: ByteCount? = nil) throws(TransferError) -> DeliveredFile? {
        let left = try folder.status(of: partName).flatMap { FileIdentity($0) == part ? $0 : nil }
        if let left, left.st_nlink < 2 { return nil }
        guard let (found, present) = try finalName() else { return nil }
        if let expected, ByteCount(Int64(present.st_size)) != expected { return nil }
        guard let descriptor = try folder.open(found) else { return nil }
        if left != nil { unlinkat(folder.fileDescriptor, partName, 0) }
        if durability.isSynced { try folder.sync(besides: descriptor.rawValue) }
        return try delivered(descriptor, as: found)
    }

    private func finalName() throws(TransferError) -> (String, stat)? {
        for candidate in folder.candidates(for: name, policy) {
            guard let present = try folder.status(of: candidate) else { return nil }
            if isRegular(present), FileIdentity(present) == part { return (candidate, present) }
        }
        return nil
    }
}

extension Descriptor {
    /// Gives a file that is to be delivered its time, if there is one, and makes it durable.
    func stampAndSync(_ time: Int64?, _ durability: Durability, path: String) throws(TransferError) {
        // A file system that cannot store this time keeps its own. That is no reason to lose a download.
        if let time { _ = dld_set_modification_time(rawValue, time) }
        guard durability.isSynced else { return }
        let (result, code) = retrying { Durations.fileSyncs.measure { fsync(rawValue) } }
        if result != 0 { throw .destination(errno: code, "sync", path) }
    }
}

/// A file under its final name.
package struct DeliveredFile: Hashable, Sendable {
    package var path: String
    package var name: String
    package var bytes: ByteCount
    package var mark: FileMark
}
