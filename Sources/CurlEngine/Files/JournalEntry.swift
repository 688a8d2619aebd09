import CLinux
import Glibc
import TransferModel

/// What the journal claims about one part file: the bytes from `base` to `offset` have this CRC-32C.
///
/// It is a hint, not a truth: it counts only in the boot in which it was written, and only if the bytes, read back,
/// match.
struct JournalEntry: Hashable, Sendable {
    var task: TaskID
    var device: UInt64
    var inode: UInt64
    /// The version of the resource that the bytes belong to; see `identity(of:)`.
    var identity: UInt32
    /// Where the segment begins; nil if everything before `base` is held.
    var start: Int64?
    /// Offset of the last completed fdatasync.
    var base: Int64
    var offset: Int64
    /// CRC-32C of the bytes from `base` to `offset`.
    var crc: UInt32
    var boot: BootID

    /// A short name of the version that a checkpoint's bytes belong to. It does not depend on the length, because the
    /// answer to a resumed request may be the first that tells it.
    static func identity(of checkpoint: Checkpoint) -> UInt32 {
        let validators = checkpoint.validators
        let parts = [validators.etag, validators.lastModified, checkpoint.contentCoding]
        let text = parts.map { $0.map { "=\($0)" } ?? "-" }.joined(separator: "\n")
        return Array(text.utf8).withUnsafeBytes { dld_crc32c(0, $0.baseAddress, $0.count) }
    }
}

/// The kernel's random id of this boot (`/proc/sys/kernel/random/boot_id`).
package struct BootID: Hashable, Sendable {
    var high: UInt64
    var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// nil if the text is not a UUID.
    init?(_ text: String) {
        let digits = text.filter { $0.isHexDigit }
        guard digits.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    /// The boot that this process runs in; nil without /proc, and then nothing is ever proven.
    static func current() -> BootID? {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return BootID(String(decoding: bytes.prefix(count), as: UTF8.self))
    }
}

extension JournalEntry {
    /// Writes the entry at `place`, with a checksum that reveals a torn write.
    func encode(to place: UnsafeMutableRawPointer, generation: UInt64) {
        place.storeBytes(of: generation.littleEndian, toByteOffset: 0, as: UInt64.self)
        place.storeBytes(of: task.rawValue.littleEndian, toByteOffset: 8, as: Int64.self)
        place.storeBytes(of: device.littleEndian, toByteOffset: 16, as: UInt64.self)
        place.storeBytes(of: inode.littleEndian, toByteOffset: 24, as: UInt64.self)
        place.storeBytes(of: base.littleEndian, toByteOffset: 32, as: Int64.self)
        place.storeBytes(of: offset.littleEndian, toByteOffset: 40, as: Int64.self)
        place.storeBytes(of: boot.high.littleEndian, toByteOffset: 48, as: UInt64.self)
        place.storeBytes(of: boot.low.littleEndian, toByteOffset: 56, as: UInt64.self)
        place.storeBytes(of: crc.littleEndian, toByteOffset: 64, as: UInt32.self)
        place.storeBytes(of: identity.littleEndian, toByteOffset: 68, as: UInt32.self)
        place.storeBytes(of: (start ?? -1).littleEndian, toByteOffset: 72, as: Int64.self)
        place.storeBytes(of: dld_crc32c(0, place, 80).littleEndian, toByteOffset: 80, as: UInt32.self)
    }

    /// The entry at `place`; nil if it is empty, torn or something else.
    static func decode(_ place: UnsafeRawPointer) -> (entry: JournalEntry, generation: UInt64)? {
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: place.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        func half(_ offset: Int) -> UInt32 {
            UInt32(littleEndian: place.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        let generation = word(0)
        guard generation > 0, half(80) == dld_crc32c(0, place, 80) else { return nil }
        let start = Int64(bitPattern: word(72))
        let entry = JournalEntry(
            task: TaskID(Int64(bitPattern: word(8))), device: word(16), inode: word(24), identity: half(68),
            start: start < 0 ? nil : start, base: Int64(bitPattern: word(32)), offset: Int64(bitPattern: word(40)),
            crc: half(64),
            boot: BootID(high: word(48), low: word(56)))
        guard entry.base >= max(0, start), entry.offset >= entry.base else { return nil }
        return (entry, generation)
    }
}
