import CLinux
import Glibc
import TransferModel

/// Delivers a body that is still in memory. An unnamed file is written, marked, synced and then linked, so it is
/// complete under its name or not there at all, and leaves nothing behind.
///
/// All calls block: run them in a `BlockingPool`.
package struct GatheredDelivery: Sendable {
    package var folder: Folder
    package var bytes: [UInt8]
    /// The wanted final name.
    package var name: String
    /// The name that the destination gives, from which the part file gets its name; nil if it is only a folder.
    package var wanted: String?
    package var policy: ConflictPolicy
    package var store: String
    package var task: TaskID
    package var durability: Durability
    /// A digest proved the body.
    package var isProven: Bool
    /// In seconds since 1970; set if the file gets the server's time.
    package var modificationTime: Int64?

    package init(
        folder: Folder, bytes: [UInt8], name: String, wanted: String?, policy: ConflictPolicy, store: String,
        task: TaskID, durability: Durability, isProven: Bool, modificationTime: Int64?
    ) {
        self.folder = folder
        self.bytes = bytes
        self.name = name
        self.wanted = wanted
        self.policy = policy
        self.store = store
        self.task = task
        self.durability = durability
        self.isProven = isProven
        self.modificationTime = modificationTime
    }

    /// A file under its final name, and its open descriptor. Its folder is not synced yet.
    package struct Placed: Sendable {
        package var delivered: DeliveredFile
        package var file: Descriptor
        package var isProven: Bool
    }

    /// - Returns: nil if the file system does not support this way of delivery. Then nothing was left there.
    /// - Throws: what `Delivery.deliver` throws.
    package func place() throws(TransferError) -> Placed? {
        try PathRules.requireName(name)
        try folder.requireInPlace()
        let mark = DeliveryMark(
            store: store, task: task, size: bytes.count, isProven: isProven,
            boot: durability.isSynced ? nil : BootName.current)
        guard let file = try nameless(), mark.set(on: file.rawValue) else { return nil }
        try write(to: file)
        try file.stampAndSync(modificationTime, durability, path: path)
        guard let final = try link(file) else { return nil }
        return Placed(
            delivered: DeliveredFile(
                path: folder.path(of: final), name: final, bytes: ByteCount(Int64(bytes.count)),
                mark: try fileMark(of: file)),
            file: file, isProven: isProven)
    }

    /// Omits the change time, because the delivery mark must still be removed.
    private func fileMark(of file: Descriptor) throws(TransferError) -> FileMark {
        guard let status = FileKit.status(of: file.rawValue) else {
            throw .destination(errno: errno, "deliver", path)
        }
        let checksum = bytes.withUnsafeBytes { dld_crc32c(0, $0.baseAddress, $0.count) }
        return FileMark(
            inode: UInt64(status.st_ino), changed: nanoseconds(status.st_ctim), checksum: checksum)
    }

    // MARK: - Steps

    private var path: String { folder.path(of: name) }

    /// A new unnamed file (O_TMPFILE); nil if the file system or the kernel does not support them.
    private func nameless() throws(TransferError) -> Descriptor? {
        let (file, code) = retrying {
            openat(folder.fileDescriptor, ".", DLD_O_TMPFILE | O_RDWR | O_CLOEXEC, mode_t(0o666))
        }
        if file >= 0 { return Descriptor(file) }
        switch code {
        case EOPNOTSUPP, EISDIR, EINVAL, ENOSYS, ENOENT, EPERM: return nil
        default: throw .destination(errno: code, "deliver", path)
        }
    }

    private func write(to file: Descriptor) throws(TransferError) {
        var done = 0
        while done < bytes.count {
            let (count, code) = bytes.withUnsafeBytes { source in
                retrying {
                    pwrite(file.rawValue, source.baseAddress.map { $0 + done }, source.count - done, off_t(done))
                }
            }
            guard count > 0 else { throw .destination(errno: count == 0 ? ENOSPC : code, "write", path) }
            done += count
        }
    }

    /// Returns the name that the file got; nil if it cannot be linked.
    private func link(_ file: Descriptor) throws(TransferError) -> String? {
        for candidate in folder.candidates(for: name, policy) {
            switch try attempt(file, candidate) {
            case .linked: return candidate
            case .taken: if policy == .overwrite { return try replace(file) }
            case .unable: return nil
            }
        }
        throw folder.taken(name, policy)
    }

    private enum Attempt { case linked, taken, unable }

    private func attempt(_ file: Descriptor, _ candidate: String) throws(TransferError) -> Attempt {
        let (result, code) = retrying { dld_link_open_file(file.rawValue, folder.fileDescriptor, candidate) }
        if result == 0 { return .linked }
        switch code {
        case EEXIST: return .taken
        // The file system does not support links, or /proc is missing. The other way of delivery finds out more.
        case EPERM, EOPNOTSUPP, ENOSYS, ENOENT, EXDEV, EINVAL, EMLINK: return .unable
        default: throw .destination(errno: code, "deliver", folder.path(of: candidate))
        }
    }

    /// Gives the file the name of the task's part file first, because a link cannot replace a file, but a rename can.
    private func replace(_ file: Descriptor) throws(TransferError) -> String? {
        let partName = PartName.make(task: task, store: store, wanted: wanted)
        unlinkat(folder.fileDescriptor, partName, 0)
        guard case .linked = try attempt(file, partName) else { return nil }
        do throws(TransferError) {
            try folder.rename(partName, over: name)
        } catch {
            folder.unlinkDurably([partName])
            throw error
        }
        return name
    }
}

// MARK: - After a crash

extension GatheredDelivery {
    /// Returns the file that an earlier run of this task delivered before its daemon died.
    /// - Throws: `disk.*`, `destination.*` if that cannot be determined or made durable.
    package func recognised() throws(TransferError) -> Placed? {
        try Self.recognised(
            in: folder, name: name, policy: policy, store: store, task: task, durability: durability)
    }

    /// Returns the file that an earlier run of this task delivered before its daemon died.
    /// - Throws: `disk.*`, `destination.*` if that cannot be determined or made durable.
    package static func recognised(
        in folder: Folder, name: String, policy: ConflictPolicy, store: String, task: TaskID, durability: Durability
    ) throws(TransferError) -> Placed? {
        for candidate in folder.candidates(for: name, policy) {
            guard let present = try folder.status(of: candidate) else { return nil }
            guard isRegular(present) else { continue }
            guard let file = try folder.open(candidate), let status = FileKit.status(of: file.rawValue),
                isRegular(status),
                let isProven = DeliveryMark.proof(
                    on: file.rawValue, store: store, task: task, size: Int(status.st_size))
            else { continue }
            if durability.isSynced { try folder.sync(besides: file.rawValue) }
            let path = folder.path(of: candidate)
            let mark = FileMark(
                inode: UInt64(status.st_ino), changed: nanoseconds(status.st_ctim),
                checksum: try FileHasher.checksum(of: file.rawValue, path: path))
            return Placed(
                delivered: DeliveredFile(
                    path: path, name: candidate, bytes: ByteCount(Int64(status.st_size)), mark: mark),
                file: file, isProven: isProven)
        }
        return nil
    }
}

extension Durability {
    /// Tells whether a file is durable before its task counts as complete.
    package var isSynced: Bool {
        switch self {
        case .full: true
        case .relaxed: false
        }
    }
}
