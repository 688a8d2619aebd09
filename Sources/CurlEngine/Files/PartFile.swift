import CLinux
import Glibc
import Synchronization
import Threading
import TransferCore
import TransferModel

/// The hidden file beside the destination that a download grows in; resuming checks its identity.
///
/// A planned file is made when its first bytes must be stored: a small body that comes at once never needs it.
package final class PartFile: Sendable {
    /// Where a planned file will be made; the folder's descriptor lives as long as `keeper`.
    private struct Plan: Sendable {
        var directory: Int32
        var keeper: any Sendable
    }

    package let path: String
    /// The folder's device while the file is planned.
    package var device: UInt64 { UInt64(bitPattern: deviceNumber.load(ordering: .acquiring)) }
    /// While the file is planned, the inode is 0 and the descriptor -1.
    package var inode: UInt64 { UInt64(bitPattern: number.load(ordering: .acquiring)) }
    package var fileDescriptor: Int32 { descriptor.load(ordering: .acquiring) }
    private let deviceNumber: Atomic<Int64>
    private let number: Atomic<Int64>
    private let descriptor: Atomic<Int32>
    private let isClosed = Atomic<Bool>(false)
    private let length = Atomic<Int64>(0)
    private let damaged = Atomic<Bool>(false)
    private let plan: Guarded<Plan?>

    private init(path: String, fileDescriptor: Int32, status: stat) {
        self.path = path
        deviceNumber = Atomic(Int64(bitPattern: UInt64(status.st_dev)))
        descriptor = Atomic(fileDescriptor)
        number = Atomic(Int64(bitPattern: UInt64(status.st_ino)))
        plan = Guarded(nil)
        length.store(Int64(status.st_size), ordering: .relaxed)
    }

    /// A file that `open` will make in `directory`, like `create` with `replacing`; `keeper` keeps the folder open.
    package init(planned path: String, device: UInt64, directory: Int32, keeper: any Sendable) {
        self.path = path
        deviceNumber = Atomic(Int64(bitPattern: device))
        descriptor = Atomic(-1)
        number = Atomic(0)
        plan = Guarded(Plan(directory: directory, keeper: keeper))
    }

    deinit { close() }

    /// False while the file is planned.
    package var isOpen: Bool { fileDescriptor >= 0 }

    /// Makes a planned file; blocks. Does nothing if it was made before.
    /// - Throws: like `create`.
    package func open() throws(TransferError) {
        do {
            try makeIfPlanned()
        } catch {
            throw error.transferError(path)
        }
    }

    func makeIfPlanned() throws(LocalFailure) {
        guard !isOpen else { return }
        try plan.withLock { plan throws(LocalFailure) in
            guard let place = plan, !isOpen else { return }
            let (made, status) = try Self.make(path, in: place.directory, replacing: true)
            // On some file systems (overlays), this is not the folder's device.
            deviceNumber.store(Int64(bitPattern: UInt64(status.st_dev)), ordering: .releasing)
            number.store(Int64(bitPattern: UInt64(status.st_ino)), ordering: .releasing)
            descriptor.store(made, ordering: .releasing)
            plan = nil
        }
    }

    /// Creates the file (O_EXCL, O_NOFOLLOW; 0666 less the umask).
    ///
    /// With `directory`, the last component of `path` is looked up in that open folder, and `path` is only recorded.
    /// `replacing` first removes any file of this name: a part file of this task that no checkpoint names.
    /// - Throws: disk.full, disk.quota, disk.io, destination.not_writable or destination.bad_path.
    package static func create(
        path: String, directory: Int32? = nil, replacing: Bool = false
    ) throws(TransferError) -> PartFile {
        do {
            let (descriptor, status) = try make(path, in: directory, replacing: replacing)
            return PartFile(path: path, fileDescriptor: descriptor, status: status)
        } catch {
            throw error.transferError(path)
        }
    }

    private static func make(
        _ path: String, in directory: Int32?, replacing: Bool
    ) throws(LocalFailure) -> (descriptor: Int32, status: stat) {
        let name = directory == nil ? path : lastComponent(path)
        let folder = directory ?? AT_FDCWD
        if replacing, unlinkat(folder, name, 0) != 0, errno != ENOENT { throw LocalFailure("unlink") }
        let descriptor = openat(folder, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, mode_t(0o666))
        guard descriptor >= 0 else {
            let failure = LocalFailure("open")
            // The folder exists, so nothing is gone: its file system, such as /proc, accepts no such file.
            if failure.errno == ENOENT, let directory, isLinked(directory) { throw LocalFailure("open", errno: EINVAL) }
            throw failure
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let failure = LocalFailure("fstat")
            Glibc.close(descriptor)
            throw failure
        }
        return (descriptor, status)
    }

    /// A removed folder has no link left.
    private static func isLinked(_ folder: Int32) -> Bool {
        var status = stat()
        return fstat(folder, &status) == 0 && status.st_nlink > 0
    }

    /// Opens exactly the file that a checkpoint names: regular, one link, same device and inode, at least as long as it
    /// says. nil if it is no longer that file.
    /// - Throws: disk.io and similar errors if the file may be there but cannot be read.
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

    /// Whether emptying the file would lose bytes.
    package var mayHoldBytes: Bool { length.load(ordering: .relaxed) > 0 }

    /// Bytes up to `end` were written.
    func noteBytes(upTo end: Int64) { _ = length.max(end, ordering: .relaxed) }

    /// We cut the file at `end`.
    func noteCut(at end: Int64) { length.store(end, ordering: .relaxed) }

    /// Somebody else cut the file, wrote to it, or replaced it: none of it counts any more.
    package var isDamaged: Bool { damaged.load(ordering: .relaxed) }
    package func noteDamage() { damaged.store(true, ordering: .relaxed) }

    /// Whether the file is shorter than we left it: the next bytes would come after a hole.
    func isCut() -> Bool {
        var status = stat()
        guard fstat(fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            Int64(status.st_size) < length.load(ordering: .relaxed)
        else { return isDamaged }
        noteDamage()
        return true
    }

    /// Cuts the file to `length`.
    package func truncate(to length: ByteCount) throws(TransferError) {
        guard ftruncate(fileDescriptor, off_t(length.rawValue)) == 0 else {
            throw LocalFailure("ftruncate").transferError(path)
        }
        noteCut(at: length.rawValue)
    }

    /// Writes the whole content of an empty file.
    package func write(_ bytes: [UInt8]) throws(TransferError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { source in
                pwrite(fileDescriptor, source.baseAddress.map { $0 + done }, source.count - done, off_t(done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw LocalFailure("pwrite", errno: count == 0 ? ENOSPC : errno).transferError(path)
            }
            done += count
        }
        noteBytes(upTo: Int64(bytes.count))
    }

    /// fdatasync(2). After a failure, the bytes since the last success must be written again: a second call would
    /// report a false success.
    package func sync() throws(TransferError) {
        let result = Durations.fileSyncs.measure { fdatasync(fileDescriptor) }
        guard result == 0 else { throw LocalFailure("fdatasync").transferError(path) }
    }

    /// Closes the descriptor; nothing may use the part file afterwards.
    package func close() {
        plan.withLock { $0 = nil }
        let held = fileDescriptor
        if held >= 0, !isClosed.exchange(true, ordering: .acquiringAndReleasing) { Glibc.close(held) }
    }

    private static func lastComponent(_ path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { String($0) } ?? path
    }
}

// MARK: - Recover

extension PartFile {
    /// Reopens the part file of `task` to resume it. Reads from disk: not for the reactor or an actor.
    ///
    /// The bytes of the checkpoint are proven. Beyond it, bytes are proven if the journal claims them in this boot, for
    /// this version, and they have its CRC when they are read back. nil if the file is not the checkpoint's, or the
    /// journal shows that it was started over since: start from 0.
    /// - Parameter mayHaveHoles: written ranges may be holes, because copies of files with holes have holes too.
    /// - Returns: the part file, and the checkpoint with what is proven. If that has no gaps, the file is cut at its
    ///   end.
    /// - Throws: disk.io and similar errors if the disk fails.
    package static func recover(
        _ checkpoint: Checkpoint, task: TaskID, journal: OffsetJournal?, directory: Int32? = nil,
        mayHaveHoles: Bool = false
    ) throws(TransferError) -> (part: PartFile, checkpoint: Checkpoint)? {
        guard let (part, size) = try open(checkpoint, directory: directory) else { return nil }
        guard mayHaveHoles || !part.hasHole(in: ByteRangeSet(checkpoint)),
            let held = part.proven(checkpoint, task, journal, size: size)
        else { return nil }
        var proven = checkpoint
        proven.offset = held.prefix
        proven.ranges = held.beyond
        if size > proven.reach.rawValue { try part.truncate(to: proven.reach) }
        // Bytes that a checkpoint builds on must be durable.
        if held != ByteRangeSet(checkpoint) { try part.sync() }
        return (part, proven)
    }

    /// Whether some of these written bytes are missing: somebody cut the file, or cleared a part of it.
    ///
    /// We never leave a hole. On a file system that stores written zeros as data, none appears. The result is only as
    /// precise as a block: what was cut within one reads as zeros (`isCut`).
    package func hasHole(in written: ByteRangeSet) -> Bool { Self.hasHole(fileDescriptor, in: written) }

    /// The same for an open file that was written up to `end`.
    package static func hasHole(_ file: Int32, upTo end: ByteCount) -> Bool {
        hasHole(file, in: ByteRangeSet([ByteRange(.zero, end)]))
    }

    private static func hasHole(_ file: Int32, in written: ByteRangeSet) -> Bool {
        guard dld_keeps_zeros(file) != 0 else { return false }
        func find() -> Bool {
            written.ranges.contains { dld_first_hole(file, $0.start.rawValue) < $0.end.rawValue }
        }
        // Reserved room may briefly count as a hole while its bytes reach the disk, but not after a sync.
        return find() && (Durations.fileSyncs.measure { fdatasync(file) } != 0 || find())
    }

    /// The proven ranges of the file; nil if the journal has another version, or the same one started over.
    private func proven(
        _ checkpoint: Checkpoint, _ task: TaskID, _ journal: OffsetJournal?, size: Int64
    ) -> ByteRangeSet? {
        var held = ByteRangeSet(checkpoint)
        guard let journal else { return held }
        let identity = JournalEntry.identity(of: checkpoint)
        if let entry = journal.entry(task: task, device: device, inode: inode) {
            guard entry.identity == identity, entry.offset >= checkpoint.offset.rawValue else { return nil }
            if bears(out: entry, size: size) { held.insert(ByteRange(.zero, ByteCount(entry.offset))) }
        }
        let segments = journal.segments(task: task, device: device, inode: inode)
        guard segments.allSatisfy({ $0.identity == identity }) else { return nil }
        for entry in segments where bears(out: entry, size: size) {
            held.insert(ByteRange(ByteCount(entry.start ?? entry.base), ByteCount(entry.offset)))
        }
        return held
    }

    private func bears(out entry: JournalEntry, size: Int64) -> Bool {
        entry.offset <= size && crc(from: entry.base, to: entry.offset) == entry.crc
    }

    /// CRC-32C of a range of the file; nil if the range cannot be read completely.
    private func crc(from start: Int64, to end: Int64) -> UInt32? {
        let buffer = Buffer(capacity: 1 << 20)
        var crc: UInt32 = 0
        var offset = start
        while offset < end {
            let wanted = Int(min(Int64(buffer.capacity), end - offset))
            let count = pread(fileDescriptor, buffer.bytes, wanted, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            crc = dld_crc32c(crc, buffer.bytes, count)
            offset += Int64(count)
        }
        return crc
    }
}
