import Foundation
import TestSupport
import Testing
import TransferModel

@testable import CurlEngine

@Suite struct OffsetJournalTests {
    private let boot = BootID(high: 1, low: 2)

    private func entry(_ task: Int64 = 7, offset: Int64 = 100) -> JournalEntry {
        JournalEntry(
            task: TaskID(task), device: 3, inode: 4, identity: 5, base: 10, offset: offset, crc: 6, boot: boot)
    }

    @Test func knowsNothingOfVolatileTasks() throws {
        let folder = try TemporaryFolder()
        let journal = try OffsetJournal(path: folder.file("journal"), slots: 4, boot: boot)
        #expect(journal.claim(.firstVolatile) == nil)
    }

    @Test func remembersAcrossAReopening() throws {
        let folder = try TemporaryFolder()
        do {
            let journal = try OffsetJournal(path: folder.file("journal"), slots: 4, boot: boot)
            let slot = try #require(journal.claim(TaskID(7)))
            for offset in 11...50 { journal.write(entry(offset: Int64(offset)), to: slot) }
        }
        let again = try OffsetJournal(path: folder.file("journal"), slots: 4, boot: boot)
        #expect(again.entry(task: TaskID(7), device: 3, inode: 4) == entry(offset: 50))
        #expect(again.entry(task: TaskID(8), device: 3, inode: 4) == nil)
        #expect(again.entry(task: TaskID(7), device: 3, inode: 9) == nil)
    }

    /// On a file system where each written page needs new space, a memory mapping would get SIGBUS.
    @Test(.enabled(if: CrashableDisk.isPossible(.btrfs), "mounts need root, and mkfs.btrfs"))
    func aFullDiskThatCopiesOnWriteCostsTheLastClaimAtMost() async throws {
        let disk = try await CrashableDisk.make(.btrfs, megabytes: 128)
        let path = disk.path + "/journal"
        do {
            let journal = try OffsetJournal(path: path, slots: 64, boot: boot)
            let slot = try #require(journal.claim(TaskID(7)))
            journal.write(entry(offset: 20), to: slot)
            try disk.fillUp("ballast")
            for offset in 21...40 { journal.write(entry(offset: Int64(offset)), to: slot) }
            unlink(disk.path + "/ballast")
        }
        let again = try OffsetJournal(path: path, slots: 64, boot: boot)
        let offset = try #require(again.entry(task: TaskID(7), device: 3, inode: 4)).offset
        #expect((20...40).contains(offset))
    }

    @Test(.enabled(if: CrashableDisk.isPossible(.btrfs), "mounts need root, and mkfs.btrfs"))
    func remembersOnADiskThatCopiesOnWrite() async throws {
        let disk = try await CrashableDisk.make(.btrfs, megabytes: 128)
        let path = disk.path + "/journal"
        do {
            let journal = try OffsetJournal(path: path, slots: 4, boot: boot)
            for task in [7, 8] as [Int64] {
                let slot = try #require(journal.claim(TaskID(task)))
                for offset in 11...50 { journal.write(entry(task, offset: Int64(offset)), to: slot) }
                journal.release(slot, task: TaskID(task), keeping: task == 7)
            }
        }
        let again = try OffsetJournal(path: path, slots: 4, boot: boot)
        #expect(again.entry(task: TaskID(7), device: 3, inode: 4) == entry(offset: 50))
        #expect(again.entry(task: TaskID(8), device: 3, inode: 4) == nil)
    }

    @Test func aFileThatWasMadeLongerTakesNoMoreRoom() throws {
        let folder = try TemporaryFolder()
        try folder.write("journal", [])
        #expect(truncate(folder.file("journal"), 1 << 34) == 0)
        _ = try OffsetJournal(path: folder.file("journal"), slots: 4, boot: boot)
        var status = stat()
        #expect(stat(folder.file("journal"), &status) == 0)
        #expect(status.st_blocks * 512 <= 32 << 20)
    }

    @Test func forgetsAnotherBoot() throws {
        let folder = try TemporaryFolder()
        do {
            let journal = try OffsetJournal(path: folder.file("journal"), slots: 4, boot: boot)
            journal.write(entry(), to: try #require(journal.claim(TaskID(7))))
        }
        let again = try OffsetJournal(path: folder.file("journal"), slots: 4, boot: BootID(high: 1, low: 3))
        #expect(again.entry(task: TaskID(7), device: 3, inode: 4) == nil)
    }

    @Test(arguments: 0..<76)
    func ignoresATornCopyAndKeepsTheOneBefore(byte: Int) throws {
        let folder = try TemporaryFolder()
        do {
            let journal = try OffsetJournal(path: folder.file("journal"), slots: 1, boot: boot)
            let slot = try #require(journal.claim(TaskID(7)))
            journal.write(entry(offset: 20), to: slot)
            journal.write(entry(offset: 30), to: slot)
        }
        // Generation 2 is in the first copy.
        var bytes = try folder.read("journal")
        bytes[byte] ^= 0x10
        try folder.write("journal", bytes)
        let again = try OffsetJournal(path: folder.file("journal"), slots: 1, boot: boot)
        #expect(again.entry(task: TaskID(7), device: 3, inode: 4) == entry(offset: 20))
    }

    @Test func givesATaskItsOwnSlotAgain() throws {
        let folder = try TemporaryFolder()
        let journal = try OffsetJournal(path: folder.file("journal"), slots: 2, boot: boot)
        let first = try #require(journal.claim(TaskID(7)))
        journal.write(entry(), to: first)
        journal.release(first, task: TaskID(7), keeping: true)
        #expect(journal.entry(task: TaskID(7), device: 3, inode: 4) == entry())
        #expect(try #require(journal.claim(TaskID(7))).index == first.index)
    }

    @Test func takesTheOldestLeftSlotWhenNoneIsFree() throws {
        let folder = try TemporaryFolder()
        let journal = try OffsetJournal(path: folder.file("journal"), slots: 2, boot: boot)
        for task in [1, 2] as [Int64] {
            let slot = try #require(journal.claim(TaskID(task)))
            journal.write(entry(task), to: slot)
            journal.release(slot, task: TaskID(task), keeping: true)
        }
        #expect(journal.claim(TaskID(3)) != nil)
        #expect(journal.entry(task: TaskID(1), device: 3, inode: 4) == nil)
        #expect(journal.entry(task: TaskID(2), device: 3, inode: 4) != nil)
        #expect(journal.claim(TaskID(4)) != nil)
        #expect(journal.claim(TaskID(5)) == nil)
    }

    @Test func wipesAReleasedSlot() throws {
        let folder = try TemporaryFolder()
        let journal = try OffsetJournal(path: folder.file("journal"), slots: 1, boot: boot)
        let slot = try #require(journal.claim(TaskID(7)))
        journal.write(entry(), to: slot)
        journal.release(slot, task: TaskID(7), keeping: false)
        #expect(journal.entry(task: TaskID(7), device: 3, inode: 4) == nil)
        #expect(try folder.read("journal").allSatisfy { $0 == 0 })
    }

    @Test func survivesAFileOfJunk() throws {
        let folder = try TemporaryFolder()
        try folder.write("journal", pattern(10_000))
        let journal = try OffsetJournal(path: folder.file("journal"), slots: 4, boot: boot)
        #expect(journal.entry(task: TaskID(7), device: 3, inode: 4) == nil)
        #expect(journal.claim(TaskID(7)) != nil)
    }

    @Test func readsBootIDs() {
        #expect(BootID("00000000-0000-0001-0000-000000000002\n") == BootID(high: 1, low: 2))
        #expect(BootID("nonsense") == nil)
        #expect(BootID.current() != nil)
    }
}
