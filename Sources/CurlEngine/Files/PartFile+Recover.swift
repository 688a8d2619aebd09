import CLinux
import Glibc
import TransferCore
import TransferModel

extension PartFile {
    /// Reopens the part file of `task` for resumption. Reads from disk: not for the reactor or an actor.
    ///
    /// Proven is what the checkpoint says, and beyond it what the journal says where it was written in this boot, for
    /// this version, and the bytes it speaks of, read back, have its CRC. nil if the file is not the one of the
    /// checkpoint, or where the journal knows that it was begun anew since: start from 0.
    /// - Parameter mayHaveHoles: what was written may be none of it: copies of files with holes have some too.
    /// - Returns: the part, and the checkpoint with what is proven; if that has no gaps the file is cut at its end.
    /// - Throws: disk.io and its like if the disk fails.
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
        // What a checkpoint is built on must be durable.
        if held != ByteRangeSet(checkpoint) { try part.sync() }
        return (part, proven)
    }

    /// Whether some of these bytes, which were written, are not there: somebody cut the file, or cleared a part of it.
    ///
    /// We never leave a hole, and a file system on which written zeros are data knows of none. Only as much is said as
    /// blocks are long: what was cut within one reads as zeros (`isCut`).
    package func hasHole(in written: ByteRangeSet) -> Bool { Self.hasHole(fileDescriptor, in: written) }

    /// As above, of an open file that was written up to `end`.
    package static func hasHole(_ file: Int32, upTo end: ByteCount) -> Bool {
        hasHole(file, in: ByteRangeSet([ByteRange(.zero, end)]))
    }

    private static func hasHole(_ file: Int32, in written: ByteRangeSet) -> Bool {
        guard dld_keeps_zeros(file) != 0 else { return false }
        func find() -> Bool {
            written.ranges.contains { dld_first_hole(file, $0.start.rawValue) < $0.end.rawValue }
        }
        // Room that was reserved may count as a hole for a moment while its bytes reach the disk: not after a sync.
        return find() && (fdatasync(file) != 0 || find())
    }

    /// What of the file is proven; nil if the journal is of another version, or of the same begun anew.
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

    /// CRC-32C of a range of the file; nil if it cannot be read whole.
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
