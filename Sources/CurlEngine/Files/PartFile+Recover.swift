import CLinux
import Glibc
import TransferCore
import TransferModel

extension PartFile {
    /// Reopens the part file of `task` for resumption. Reads from disk: not for the reactor or an actor.
    ///
    /// Proven is what the checkpoint says, and beyond it what the journal says where it was written in this boot, for
    /// this version, and the bytes it speaks of, read back, have its CRC. nil where the file is not the one of the
    /// checkpoint, or where the journal knows that it was begun anew since: start from 0.
    /// - Returns: the part, and the checkpoint with what is proven; where that has no gaps the file is cut at its end.
    /// - Throws: disk.io and its like where the disk fails.
    package static func recover(
        _ checkpoint: Checkpoint, task: TaskID, journal: OffsetJournal?, directory: Int32? = nil
    ) throws(TransferError) -> (part: PartFile, checkpoint: Checkpoint)? {
        guard let (part, size) = try open(checkpoint, directory: directory) else { return nil }
        guard let held = part.proven(checkpoint, task, journal, size: size) else { return nil }
        var proven = checkpoint
        proven.offset = held.prefix
        proven.ranges = held.beyond
        if size > proven.reach.rawValue { try part.truncate(to: proven.reach) }
        // What a checkpoint is built on must be durable.
        if held != ByteRangeSet(checkpoint) { try part.sync() }
        return (part, proven)
    }

    /// What of the file is proven; nil where the journal is of another version, or of the same begun anew.
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

    /// CRC-32C of a range of the file; nil where it cannot be read whole.
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
