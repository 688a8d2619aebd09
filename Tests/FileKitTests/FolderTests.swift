import CLinux
import Glibc
import TestSupport
import Testing
import TransferModel

@testable import FileKit

struct FolderTests {
    /// Folders of a system daemon's users are opened with O_PATH. fsync(2) and syncfs(2) refuse such descriptors.
    @Test func aFolderThatIsOnlyNamedIsSynced() throws {
        let temporary = try TemporaryFolder()
        let named = open(temporary.path, DLD_O_PATH | O_DIRECTORY | O_CLOEXEC)
        let folder = try Folder(path: temporary.path, descriptor: Descriptor(named))
        #expect(fsync(folder.fileDescriptor) == -1)
        try folder.sync()
    }

    @Test(.enabled(if: Requirements.mayAdministrate, "mounts need root"))
    func aFileSystemThatIsReadOnlyIsNamedSo() throws {
        let disk = try SmallDisk(size: "1m")
        let folder = try Folder(path: disk.path, descriptor: Descriptor(open(disk.path, O_DIRECTORY | O_CLOEXEC)))
        try folder.requireWritable()
        #expect(mount(nil, disk.path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
        let error = #expect(throws: TransferError.self) { try folder.requireWritable() }
        #expect(error?.code == .destinationNotWritable)
        #expect(error?.message.contains("Read-only file system") == true)
    }

    @Test func aFolderTellsWhetherItHasOnlyFiles() throws {
        let temporary = try TemporaryFolder()
        // Users' folders of a system daemon are opened with O_PATH, which cannot be read.
        let named = open(temporary.path, DLD_O_PATH | O_DIRECTORY | O_CLOEXEC)
        let folder = try Folder(path: temporary.path, descriptor: Descriptor(named))
        #expect(folder.hasOnlyFiles(atMost: 0))
        try Files.write(temporary.file(".a"), "")
        #expect(symlink("/", temporary.file("..b")) == 0)
        #expect(folder.hasOnlyFiles(atMost: 2))
        #expect(!folder.hasOnlyFiles(atMost: 1))
        try temporary.folder("...")
        #expect(!folder.hasOnlyFiles(atMost: 9))
    }

    @Test func whatCannotBeLookedAtIsNotTakenToBeAbsent() throws {
        let fixture = try FilesFixture()
        let folder = try fixture.open()
        #expect(try folder.status(of: "absent") == nil)
        try Files.write(fixture.temporary.file("there"), "")
        #expect(try folder.status(of: "there") != nil)
        // An error that needs no failing disk.
        let tooLong = String(repeating: "n", count: 300)
        #expect(throws: TransferError.self) { try folder.status(of: tooLong) }
    }
}
