import Glibc
import TransferModel

/// A write-ahead log in which an acknowledged transaction cannot be read.
///
/// SQLite reads up to the first frame whose checksum is wrong, and takes the rest for a transaction that was cut off. It
/// is not if another transaction follows: with `synchronous=FULL`, each begins after the one before it is on the disk.
/// A frame's checksum continues that of the frame before it, so what follows can be verified without what is damaged.
/// SQLite's index of the log (`-shm`) counts only frames that are on the disk: if it is there, it tells what was cut off.
/// Without it, damage to the last transaction cannot be told from a power loss.
/// Sources: https://www.sqlite.org/fileformat2.html#the_write_ahead_log, https://www.sqlite.org/walformat.html
struct DamagedLog {
    let path: String
    /// Bytes before the part that cannot be read.
    let offset: Int

    /// nil if the log is not damaged, or cannot be opened. To be called before SQLite writes in it.
    /// - Parameter database: path of the database that the log belongs to.
    init?(of database: String) {
        path = database + "-wal"
        guard let log = WriteAheadLog(path), let offset = log.damage(LogIndex(database + "-shm")) else { return nil }
        self.offset = offset
    }

    /// - Parameter isConsistent: what SQLite makes of the database and the part of the log before the damage. Checkpoints
    ///   may have copied pages from behind it.
    func error(isConsistent: Bool) -> TransferError {
        let rest =
            isConsistent
            ? "What was stored before fits together, and dld continues with it."
            : "What was stored before does not fit together. \(StoreFailure.remedy)"
        return StoreFailure.damage(
            "\(path) is damaged at byte \(offset): tasks and events that were stored after that are lost. " + rest,
            of: path)
    }
}

/// Reads the frames of a log: 24 bytes of header and a page.
private final class WriteAheadLog {
    private struct Frame {
        /// Whether it has the log's salts: it was not left by an earlier use of the file.
        var isCurrent: Bool
        /// Whether a transaction ends with it.
        var commits: Bool
        /// As it is stored.
        var checksum: Checksum
        /// Of its content, continuing the checksum of the frame before it.
        var isIntact: Bool
    }

    private static let headerSize = 32
    private static let frameHeaderSize = 24
    /// SQLite's page size if nothing else was asked for.
    private static let usualPageSize = 4096

    private let file: Int32
    private var page = usualPageSize
    /// SQLite writes checksums in the machine's own order; a log may come from another machine.
    private var isBigEndian = UInt16(bigEndian: 1) == 1
    private var salts: [UInt8] = []
    /// nil if the header is damaged.
    private var seed: Checksum?
    private var isZero = false
    /// The disk did not answer a read.
    private var isUnreadable = false
    private var buffer: [UInt8] = []

    init?(_ path: String) {
        file = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return nil }
        var header = [UInt8](repeating: 0, count: Self.headerSize)
        guard pread(file, &header, header.count, 0) == header.count else { return nil }
        isZero = header.allSatisfy { $0 == 0 }
        readHeader(header)
        buffer = [UInt8](repeating: 0, count: Self.frameHeaderSize + page)
        // The first frame has the salts too.
        if seed == nil, read(0) { salts = Array(buffer[8..<16]) }
    }

    deinit { if file >= 0 { close(file) } }

    private func readHeader(_ header: [UInt8]) {
        guard header[..<3] == [0x37, 0x7f, 0x06], header[3] & 0xfe == 0x82 else { return }
        let isBigEndian = header[3] & 1 == 1
        let size = Int(Self.number(header, 8))
        let stored = Checksum(Self.number(header, 24), Self.number(header, 28))
        guard (512...65536).contains(size), size & (size - 1) == 0,
            Checksum().adding(header[..<24], isBigEndian: isBigEndian) == stored
        else { return }
        (self.isBigEndian, page) = (isBigEndian, size)
        salts = Array(header[16..<24])
        seed = stored
    }

    /// Returns the bytes before the first frame that cannot be read, if an acknowledged transaction follows it.
    func damage(_ index: LogIndex?) -> Int? {
        var number = 0
        var readable = 0
        var last = seed
        while let before = last, let frame = frame(number, after: before), frame.isCurrent, frame.isIntact {
            number += 1
            last = frame.checksum
            if frame.commits { readable = number }
        }
        guard !isUnreadable else { return nil }
        let broken = seed == nil ? 0 : place(of: number)
        // A log that was begun anew has other salts. After a power loss, zeros may stand for its header.
        if let index, index.frames > readable, seed == nil ? !isZero : index.salts == salts { return broken }
        var previous: Frame?
        while let frame = frame(number, after: previous?.checksum ?? Checksum()) {
            if let previous, previous.isCurrent, previous.commits, frame.isCurrent, frame.isIntact {
                return broken
            }
            previous = frame
            number += 1
        }
        return nil
    }

    /// - Returns: false after the last whole frame.
    private func read(_ number: Int) -> Bool {
        let count = pread(file, &buffer, buffer.count, place(of: number))
        if count < 0 { isUnreadable = true }
        return count == buffer.count
    }

    /// nil after the last whole frame.
    private func frame(_ number: Int, after last: Checksum) -> Frame? {
        guard read(number) else { return nil }
        let stored = Checksum(Self.number(buffer, 16), Self.number(buffer, 20))
        let own = last.adding(buffer[..<8], isBigEndian: isBigEndian)
            .adding(buffer[Self.frameHeaderSize...], isBigEndian: isBigEndian)
        return Frame(
            isCurrent: buffer[8..<16] == salts[...], commits: Self.number(buffer, 4) != 0, checksum: stored,
            isIntact: own == stored)
    }

    private func place(of number: Int) -> Int { Self.headerSize + number * buffer.count }

    private static func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
        bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// The header of SQLite's index of a log, in the machine's own byte order.
struct LogIndex {
    /// Frames of all transactions that are committed.
    let frames: Int
    fileprivate let salts: [UInt8]

    /// nil if there is none, or if it is not whole: it is there twice.
    init?(_ path: String) {
        let file = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var header = [UInt8](repeating: 0, count: 96)
        guard pread(file, &header, header.count, 0) == header.count, header[..<48] == header[48...] else { return nil }
        let isBigEndian = UInt16(bigEndian: 1) == 1
        func number(_ place: Int) -> UInt32 {
            header.withUnsafeBytes { $0.load(fromByteOffset: place, as: UInt32.self) }
        }
        guard number(0) == 3_007_000,
            Checksum().adding(header[..<40], isBigEndian: isBigEndian) == Checksum(number(40), number(44))
        else { return nil }
        frames = Int(number(16))
        salts = Array(header[32..<40])
    }
}

/// SQLite's checksum of a log: two sums, of which each depends on the other.
private struct Checksum: Equatable {
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init() {}

    init(_ first: UInt32, _ second: UInt32) { (self.first, self.second) = (first, second) }

    /// - Parameter bytes: a multiple of 8.
    func adding(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> Checksum {
        var sum = self
        bytes.withUnsafeBytes { bytes in
            for place in stride(from: 0, to: bytes.count, by: 8) {
                sum.first &+= Self.word(bytes, place, isBigEndian) &+ sum.second
                sum.second &+= Self.word(bytes, place + 4, isBigEndian) &+ sum.first
            }
        }
        return sum
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ place: Int, _ isBigEndian: Bool) -> UInt32 {
        let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
        return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }
}
