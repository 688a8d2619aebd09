import CLinux
import Foundation
import TestSupport
import Testing
import TransferModel

@testable import CurlEngine

@Suite struct PartFileTests {
    @Test func createsOnceAndNeverThroughALink() throws {
        let folder = try TemporaryFolder()
        let part = try PartFile.create(path: folder.file("part"))
        #expect(part.inode > 0)
        #expect(throws: TransferError.self) { try PartFile.create(path: folder.file("part")) }
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"), withDestinationPath: folder.file("elsewhere"))
        #expect(throws: TransferError.self) { try PartFile.create(path: folder.file("link")) }
        #expect(!FileManager.default.fileExists(atPath: folder.file("elsewhere")))
    }

    @Test func replacesALeftPart() throws {
        let folder = try TemporaryFolder()
        try folder.write("part", [1, 2, 3])
        let part = try PartFile.create(path: folder.file("part"), replacing: true)
        #expect(!part.mayHoldBytes)
        #expect(try folder.read("part").isEmpty)
    }

    @Test func looksUpTheNameInAnOpenFolder() throws {
        let folder = try TemporaryFolder()
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        let part = try PartFile.create(path: "/somewhere/else/part", directory: descriptor)
        #expect(part.path == "/somewhere/else/part")
        #expect(FileManager.default.fileExists(atPath: folder.file("part")))
    }

    /// /proc reports ENOENT for each new name, as a deleted folder does.
    @Test func aFolderThatTakesNoFilesIsToldFromOneThatIsGone() throws {
        func code(creatingIn folder: Int32) -> ErrorCode? {
            do throws(TransferError) {
                _ = try PartFile.create(path: "/somewhere/part", directory: folder)
                return nil
            } catch { return error.code }
        }
        let proc = open("/proc", O_RDONLY | O_DIRECTORY)
        defer { close(proc) }
        #expect(code(creatingIn: proc) == .destinationBadPath)

        let folder = try TemporaryFolder()
        let gone = open(folder.path, O_RDONLY | O_DIRECTORY)
        defer { close(gone) }
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(code(creatingIn: gone) == .diskIO)
    }

    @Test func aPlannedFileIsMadeOnceAndOnlyWhenAsked() throws {
        let bench = try Bench()
        try bench.folder.write("part", [1, 2, 3])
        let part = try bench.plannedPart()
        #expect(!part.isOpen && part.inode == 0)
        #expect(try bench.folder.read("part") == [1, 2, 3])
        try part.open()
        #expect(part.isOpen && part.inode > 0)
        let inode = part.inode
        try part.write([4, 5])
        try part.open()
        #expect(part.inode == inode)
        #expect(try bench.folder.read("part") == [4, 5])
    }

    @Test func saysWhichKindOfFailure() throws {
        let folder = try TemporaryFolder()
        let gone = #expect(throws: TransferError.self) { try PartFile.create(path: folder.file("no/part")) }
        #expect(gone?.code == .diskIO)
        let long = String(repeating: "x", count: 300)
        let name = #expect(throws: TransferError.self) { try PartFile.create(path: folder.file(long)) }
        #expect(name?.code == .destinationBadPath)
    }
}

/// What may be trusted after a crash, and what may not.
@Suite struct PartFileReopenTests {
    private static let boot = BootID(high: 8, low: 9)
    private let task = TaskID(7)

    /// A part file of 3000 bytes whose checkpoint is at 1000, and a journal that claims all 3000 bytes.
    private struct Crash {
        let folder: TemporaryFolder
        let bytes = pattern(3000)
        let checkpoint: Checkpoint

        init(offset: Int64 = 3000, base: Int64 = 1000, boot: BootID = PartFileReopenTests.boot, etag: String = "\"a\"")
            throws
        {
            folder = try TemporaryFolder()
            let part = try PartFile.create(path: folder.file("part"))
            try folder.write("part", bytes)
            var checkpoint = Checkpoint(
                offset: 1000, total: 9000, validators: Validators(etag: "\"a\""), partPath: part.path,
                device: part.device, inode: part.inode)
            self.checkpoint = checkpoint
            checkpoint.validators.etag = etag
            let journal = try OffsetJournal(path: folder.file("journal"), slots: 2, boot: boot)
            let slot = try #require(journal.claim(TaskID(7)))
            let claimed = Array(bytes[Int(base)..<max(Int(base), min(3000, Int(offset)))])
            journal.write(
                JournalEntry(
                    task: TaskID(7), device: part.device, inode: part.inode,
                    identity: JournalEntry.identity(of: checkpoint), base: base, offset: offset,
                    crc: claimed.withUnsafeBytes { dld_crc32c(0, $0.baseAddress, $0.count) }, boot: boot), to: slot)
        }

        func recover() throws -> (part: PartFile, checkpoint: Checkpoint)? {
            let journal = try OffsetJournal(path: folder.file("journal"), slots: 2, boot: PartFileReopenTests.boot)
            return try PartFile.recover(checkpoint, task: TaskID(7), journal: journal)
        }

        func change(_ body: (inout [UInt8]) -> Void) throws {
            var bytes = self.bytes
            body(&bytes)
            // Writes in place, because the inode is part of the proof.
            let handle = try #require(FileHandle(forUpdatingAtPath: folder.file("part")))
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: Data(bytes))
            try handle.close()
        }
    }

    @Test func believesWhatReadsBack() throws {
        let crash = try Crash()
        let opened = try #require(try crash.recover())
        #expect(opened.checkpoint.offset == 3000)
        #expect(try crash.folder.read("part") == crash.bytes)
    }

    @Test func believesAJournalThatWasRebasedBeforeTheCheckpointWasStored() throws {
        #expect(try Crash(base: 2000).recover()?.checkpoint.offset == 3000)
    }

    @Test(arguments: [1000, 1999, 2999])
    func fallsBackWhenABitFlipped(at index: Int) throws {
        let crash = try Crash()
        try crash.change { $0[index] ^= 1 }
        #expect(try crash.recover()?.checkpoint.offset == 1000)
        #expect(try crash.folder.read("part").count == 1000)
    }

    @Test func fallsBackWhenTheBytesAreZeros() throws {
        let crash = try Crash()
        try crash.change { $0.replaceSubrange(1500..<3000, with: repeatElement(0, count: 1500)) }
        #expect(try crash.recover()?.checkpoint.offset == 1000)
    }

    @Test func fallsBackInAnotherBoot() throws {
        #expect(try Crash(boot: BootID(high: 8, low: 10)).recover()?.checkpoint.offset == 1000)
    }

    @Test func fallsBackWhenTheFileIsShorterThanClaimed() throws {
        let crash = try Crash()
        try crash.change { $0.removeLast(500) }
        #expect(try crash.recover()?.checkpoint.offset == 1000)
    }

    @Test func fallsBackWithoutAJournal() throws {
        let crash = try Crash()
        #expect(try PartFile.recover(crash.checkpoint, task: task, journal: nil)?.checkpoint.offset == 1000)
    }

    @Test func startsOverWhenTheFileWasBegunAnewForAnotherVersion() throws {
        #expect(try Crash(etag: "\"b\"").recover() == nil)
        #expect(try Crash(offset: 500, base: 0).recover() == nil)
    }

    /// The file has its old length, but it was emptied in between, so the blocks that were written are gone.
    @Test func refusesAFileWithAHoleWhereBytesWere() throws {
        let folder = try TemporaryFolder(in: "/dev/shm")
        let part = try PartFile.create(path: folder.file("part"))
        try part.write([UInt8](repeating: 0, count: 100_000))
        let checkpoint = Checkpoint(
            offset: 100_000, partPath: part.path, device: part.device, inode: part.inode)
        #expect(try PartFile.recover(checkpoint, task: task, journal: nil) != nil, "zeros are no hole")
        #expect(truncate(part.path, 10) == 0 && truncate(part.path, 100_000) == 0)
        #expect(try PartFile.recover(checkpoint, task: task, journal: nil) == nil)
        #expect(try PartFile.recover(checkpoint, task: task, journal: nil, mayHaveHoles: true) != nil)
        var gap = checkpoint
        (gap.offset, gap.total) = (8192, 100_000)
        #expect(try PartFile.recover(gap, task: task, journal: nil) == nil)
        #expect(truncate(part.path, 0) == 0)
        #expect(part.isCut() && part.isDamaged)
    }

    @Test func refusesAnotherFile() throws {
        let crash = try Crash()
        var other = crash.checkpoint
        other.inode += 1
        #expect(try PartFile.recover(other, task: task, journal: nil) == nil)
        other = crash.checkpoint
        other.offset = 3001
        #expect(try PartFile.recover(other, task: task, journal: nil) == nil)
        other.partPath = crash.folder.file("missing")
        #expect(try PartFile.recover(other, task: task, journal: nil) == nil)
    }

    @Test func refusesASecondLinkASymlinkAndAFolder() throws {
        let crash = try Crash()
        let manager = FileManager.default
        try manager.createSymbolicLink(
            atPath: crash.folder.file("symbolic"), withDestinationPath: crash.folder.file("part"))
        var other = crash.checkpoint
        other.partPath = crash.folder.file("symbolic")
        #expect(try PartFile.recover(other, task: task, journal: nil) == nil)
        other.partPath = crash.folder.path
        #expect(try PartFile.recover(other, task: task, journal: nil) == nil)
        #expect(link(crash.folder.file("part"), crash.folder.file("hard")) == 0)
        #expect(try crash.recover() == nil)
    }
}
