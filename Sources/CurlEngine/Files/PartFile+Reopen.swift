import CLinux
import Glibc
import TransferModel

extension PartFile {
    /// Reopens the part file of `task` for resumption. Reads from disk: not for the reactor or an actor.
    ///
    /// The proven offset is the checkpoint's, or the journal's where it was written in this boot, for this version, and
    /// the bytes it speaks of, read back, have its CRC. The file is cut there. nil where the file is not the one of the
    /// checkpoint, or where the journal knows that it was begun anew since: start from 0.
    /// - Throws: disk.io and its like where the disk fails.
    package static func reopen(
        _ checkpoint: Checkpoint, task: TaskID, journal: OffsetJournal?, directory: Int32? = nil
    ) throws(TransferError) -> (part: PartFile, provenOffset: ByteCount)? {
        guard let (part, size) = try open(checkpoint, directory: directory) else { return nil }
        var proven = checkpoint.offset.rawValue
        if let entry = journal?.entry(task: task, device: part.device, inode: part.inode) {
            guard entry.identity == JournalEntry.identity(of: checkpoint), entry.offset >= proven else { return nil }
            if entry.offset <= size, part.crc(from: entry.base, to: entry.offset) == entry.crc {
                proven = entry.offset
            }
        }
        if size > proven { try part.truncate(to: ByteCount(proven)) }
        // What a checkpoint is built on must be durable.
        if proven > checkpoint.offset.rawValue { try part.sync() }
        return (part, ByteCount(proven))
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
