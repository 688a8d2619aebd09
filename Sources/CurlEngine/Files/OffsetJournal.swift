import CLinux
import Glibc
import Threading
import TransferModel

/// Remembers how far active part files are written, in a memory-mapped file: `kill -9` loses nothing of it, at no cost.
/// On file systems that copy on write, a mapping may meet a full disk, so each claim is written to the file instead.
///
/// A slot holds two copies that are written in turn, so that a copy torn by a crash leaves the previous one. Slots of
/// an earlier run stay until their task comes back or the room is needed.
package final class OffsetJournal: @unchecked Sendable {
    static let slotSize = 256
    private static let copyDistance = 128
    /// Limit for an existing file: one that somebody made longer must not take all memory and disk. 16 MiB.
    private static let mostSlots = 65536

    /// A slot held by one exchange; only that exchange's sink writes it, under the sink's lock.
    struct Slot: Sendable {
        let index: Int
    }

    private struct Table {
        /// Slots with the last claims of tasks that no exchange holds, oldest first.
        var left: [(task: TaskID, index: Int)]
        var free: [Int]
    }

    private let memory: UnsafeMutableRawPointer
    private let length: Int
    /// Where claims are written to; -1 if `memory` maps the file.
    private let file: Int32
    let boot: BootID?
    private let table: Guarded<Table>

    /// Maps the file, after creating it or extending it to `slots` slots.
    /// - Throws: disk.full or disk.io; without a journal a transfer falls back to its checkpoints.
    package convenience init(path: String, slots: Int) throws(TransferError) {
        try self.init(path: path, slots: slots, boot: BootID.current())
    }

    /// The same, in the boot that the caller names; nil if nothing is ever proven.
    package init(path: String, slots: Int, boot: BootID?) throws(TransferError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode_t(0o600))
        guard descriptor >= 0 else { throw LocalFailure("open").transferError(path) }
        var keepsFile = false
        defer { if !keepsFile { close(descriptor) } }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw LocalFailure("fstat").transferError(path) }
        let wanted = max(slots, min(Int(status.st_size) / Self.slotSize, Self.mostSlots), 1)
        let length = wanted * Self.slotSize
        // The blocks are allocated before the mapping is written: a full disk must not cause a SIGBUS.
        let code = posix_fallocate(descriptor, 0, off_t(length))
        guard code == 0 else { throw LocalFailure("posix_fallocate", errno: code).transferError(path) }
        let writesThrough = dld_copies_on_write(descriptor) != 0
        let mode = writesThrough ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED
        guard let memory = mmap(nil, length, PROT_READ | PROT_WRITE, mode, writesThrough ? -1 : descriptor, 0),
            memory != MAP_FAILED
        else { throw LocalFailure("mmap").transferError(path) }
        if writesThrough, pread(descriptor, memory, length, 0) != length {
            munmap(memory, length)
            throw LocalFailure("pread").transferError(path)
        }
        keepsFile = writesThrough
        file = writesThrough ? descriptor : -1
        self.memory = memory
        self.length = length
        self.boot = boot
        var initial = Table(left: [], free: [])
        for index in (0..<wanted).reversed() {
            if let current = Self.current(memory + index * Self.slotSize), current.entry.boot == boot {
                initial.left.append((current.entry.task, index))
            } else {
                initial.free.append(index)
            }
        }
        table = Guarded(initial)
    }

    deinit {
        munmap(memory, length)
        if file >= 0 { close(file) }
    }

    /// A slot for an exchange of `task`: the one that its last exchange left, else an empty one, else the oldest one
    /// left. nil if all are held, and for volatile tasks.
    /// - Parameter alone: the exchange has the file to itself; older claims of the task no longer count.
    func claim(_ task: TaskID, alone: Bool = false) -> Slot? {
        // No restart resumes it, and nothing of it may reach a disk.
        guard !task.isVolatile else { return nil }
        if alone { forget(task, butNewest: true) }
        return table.withLock { table in
            let index: Int
            if let own = table.left.firstIndex(where: { $0.task == task }) {
                index = table.left.remove(at: own).index
            } else if let free = table.free.popLast() {
                index = free
            } else if !table.left.isEmpty {
                index = table.left.removeFirst().index
            } else {
                return nil
            }
            return Slot(index: index)
        }
    }

    func write(_ entry: JournalEntry, to slot: Slot) {
        let place = memory + slot.index * Self.slotSize
        let generation = (Self.current(place)?.generation ?? 0) + 1
        let copy = place + Int(generation % 2) * Self.copyDistance
        entry.encode(to: copy, generation: generation)
        writeThrough(copy, Self.copyDistance)
    }

    /// If there is no room, the previous claim stays: it is either true of its bytes or does not match them.
    private func writeThrough(_ place: UnsafeMutableRawPointer, _ count: Int) {
        if file >= 0 { _ = pwrite(file, place, count, off_t(place - memory)) }
    }

    /// Gives a slot back. With `keeping`, its claim stays readable for a resumption; otherwise it is wiped.
    func release(_ slot: Slot, task: TaskID, keeping: Bool) {
        if !keeping { wipe(slot.index) }
        table.withLock { table in
            if keeping {
                table.left.append((task, slot.index))
            } else {
                table.free.append(slot.index)
            }
        }
    }

    /// Wipes the claims of the task that no exchange holds.
    /// - Parameter butNewest: keeps the one that was left last.
    package func forget(_ task: TaskID, butNewest: Bool = false) {
        let dropped: Set<Int> = table.withLock { table in
            guard table.left.contains(where: { $0.task == task }) else { return [] }
            let own = table.left.filter { $0.task == task }.map(\.index)
            let indices = Set(butNewest ? own.dropLast() : own[...])
            table.left.removeAll { indices.contains($0.index) }
            return indices
        }
        guard !dropped.isEmpty else { return }
        // Meanwhile nobody can take these slots or read them.
        for index in dropped { wipe(index) }
        table.withLock { $0.free += dropped }
    }

    private func wipe(_ index: Int) {
        let place = memory + index * Self.slotSize
        place.initializeMemory(as: UInt8.self, repeating: 0, count: Self.slotSize)
        writeThrough(place, Self.slotSize)
    }

    /// The newest claim of an exchange that had this file to itself, in this boot.
    func entry(task: TaskID, device: UInt64, inode: UInt64) -> JournalEntry? {
        claims(task, device, inode).filter { $0.entry.start == nil }.max { $0.generation < $1.generation }?.entry
    }

    /// Claims of segments of this file, in this boot.
    func segments(task: TaskID, device: UInt64, inode: UInt64) -> [JournalEntry] {
        claims(task, device, inode).map(\.entry).filter { $0.start != nil }
    }

    private func claims(
        _ task: TaskID, _ device: UInt64, _ inode: UInt64
    ) -> [(entry: JournalEntry, generation: UInt64)] {
        table.withLock { table in
            table.left.lazy.filter { $0.task == task }
                .compactMap { Self.current(self.memory + $0.index * Self.slotSize) }
                .filter { $0.entry.device == device && $0.entry.inode == inode && $0.entry.boot == self.boot }
        }
    }

    private static func current(_ place: UnsafeMutableRawPointer) -> (entry: JournalEntry, generation: UInt64)? {
        let copies = [JournalEntry.decode(place), JournalEntry.decode(place + copyDistance)]
        return copies.compactMap(\.self).max { $0.generation < $1.generation }
    }
}
