import CLinux
import Glibc
import TransferCore
import TransferModel

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
        return find() && (fdatasync(file) != 0 || find())
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
