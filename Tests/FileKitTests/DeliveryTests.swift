import Glibc
import TestSupport
import Testing
import TransferModel

@testable import FileKit

struct DeliveryTests {
    private let fixture: FilesFixture

    init() throws { fixture = try FilesFixture() }

    private func delivery(
        _ name: String, _ policy: ConflictPolicy, part: FileIdentity, time: Int64? = nil
    ) throws -> Delivery {
        try Delivery(
            folder: try fixture.open(), partName: FilesFixture.partName, part: part, name: name, policy: policy,
            modificationTime: time)
    }

    @Test(arguments: ConflictPolicy.allCases)
    func aFreeNameIsTakenAndThePartIsGone(policy: ConflictPolicy) throws {
        let part = try fixture.makePart("whole")
        let file = try delivery("a.bin", policy, part: part).deliver()
        #expect(file.path == fixture.temporary.file("a.bin"))
        #expect(file.bytes == 5)
        #expect(try fixture.text("a.bin") == "whole")
        #expect(fixture.names == ["a.bin"])
    }

    @Test func aFolderThatWasMovedGetsNothing() throws {
        let part = try fixture.makePart()
        let delivery = try delivery("a", .rename, part: part)
        let (path, moved) = (fixture.temporary.path, fixture.temporary.path + "-moved")
        try #require(rename(path, moved) == 0)
        // Whoever moved it finds the part by that.
        #expect {
            try delivery.deliver()
        } throws: { error in
            let error = error as? TransferError
            return error?.code == .diskIO && error?.folderFault == .moved
                && error?.message.contains("it is now \(moved), ") == true
        }
        try #require(rename(moved, path) == 0)
        #expect(fixture.names == [FilesFixture.partName])
        #expect(try delivery.deliver().name == "a")
    }

    @Test func renameNumbersAndLeavesEveryExistingFileAlone() throws {
        try Files.write(fixture.temporary.file("a.tar.gz"), "first")
        try Files.write(fixture.temporary.file("a (1).tar.gz"), "second")
        let file = try delivery("a.tar.gz", .rename, part: try fixture.makePart()).deliver()
        #expect(file.name == "a (2).tar.gz")
        #expect(try fixture.text("a.tar.gz") == "first")
        #expect(try fixture.text("a (1).tar.gz") == "second")
        #expect(try fixture.text("a (2).tar.gz") == "content")
    }

    @Test func failLeavesBothFilesAsTheyAre() throws {
        try Files.write(fixture.temporary.file("a"), "first")
        let delivery = try delivery("a", .fail, part: try fixture.makePart())
        #expect(code { _ = try delivery.deliver() } == .destinationExists)
        #expect(try fixture.text("a") == "first")
        #expect(try fixture.text(FilesFixture.partName) == "content")
    }

    @Test func overwriteReplacesAFileButNoFolder() throws {
        try Files.write(fixture.temporary.file("a"), "first")
        _ = try delivery("a", .overwrite, part: try fixture.makePart()).deliver()
        #expect(try fixture.text("a") == "content")

        try fixture.temporary.folder("b")
        let delivery = try delivery("b", .overwrite, part: try fixture.makePart())
        #expect(code { _ = try delivery.deliver() } == .destinationBadPath)
        #expect(fixture.names.contains(FilesFixture.partName))
    }

    @Test func overwriteReplacesALinkAndNotWhatItNames() throws {
        try Files.write(fixture.temporary.file("other"), "first")
        #expect(symlink("other", fixture.temporary.file("a")) == 0)
        _ = try delivery("a", .overwrite, part: try fixture.makePart()).deliver()
        #expect(try fixture.text("other") == "first")
        #expect(try fixture.text("a") == "content")
    }

    @Test func aDanglingLinkIsANameThatIsTaken() throws {
        #expect(symlink("nowhere", fixture.temporary.file("a")) == 0)
        #expect(try delivery("a", .rename, part: try fixture.makePart()).deliver().name == "a (1)")
    }

    @Test func theFallbackWithoutRenameFlagsDoesTheSame() throws {
        let part = try fixture.makePart()
        try Files.write(fixture.temporary.file("a"), "first")
        let delivery = try delivery("a", .fail, part: part)
        #expect(try !delivery.linkAndUnlink(to: "a"))
        #expect(try delivery.linkAndUnlink(to: "b"))
        #expect(fixture.names == ["a", "b"])
        #expect(try fixture.identity(of: "b") == part)
    }

    @Test func theServersTimeIsGiven() throws {
        _ = try delivery("a", .rename, part: try fixture.makePart(), time: 1_000_000_000).deliver()
        #expect(Files.status(fixture.temporary.file("a"))?.st_mtim.tv_sec == 1_000_000_000)
    }

    @Test(arguments: ConflictPolicy.allCases)
    func deliveringAgainAfterACrashFindsTheFile(policy: ConflictPolicy) throws {
        let part = try fixture.makePart()
        let delivery = try delivery("a", policy, part: part)
        let first = try delivery.deliver()
        #expect(try delivery.deliver() == first)
        #expect(fixture.names == ["a"])
    }

    /// The file may exist already. A second download would put another file next to it.
    @Test func whatCannotBeLookedForIsNotDeliveredAgain() throws {
        let delivery = try Delivery(
            folder: try fixture.open(), partName: String(repeating: "n", count: 300), part: try fixture.makePart(),
            name: "a", policy: .rename)
        #expect(code { _ = try delivery.recognised() } == .destinationBadPath)
    }

    @Test func aNumberedFileIsFoundAgainToo() throws {
        try Files.write(fixture.temporary.file("a"), "first")
        let delivery = try delivery("a", .rename, part: try fixture.makePart())
        _ = try delivery.deliver()
        #expect(try delivery.recognised()?.name == "a (1)")
        #expect(try delivery.recognised(expected: 6) == nil)
        #expect(fixture.names == ["a", "a (1)"])
    }

    @Test func aCrashBetweenLinkAndUnlinkIsTidiedUp() throws {
        let part = try fixture.makePart()
        #expect(link(fixture.temporary.file(FilesFixture.partName), fixture.temporary.file("a")) == 0)
        let file = try delivery("a", .rename, part: part).deliver()
        #expect(file.name == "a")
        #expect(fixture.names == ["a"])
    }

    @Test func anotherFileUnderThePartsNameIsNotDelivered() throws {
        let part = try fixture.makePart()
        unlink(fixture.temporary.file(FilesFixture.partName))
        // The inode of the deleted file may be reused at once, so this file keeps it in use.
        try Files.write(fixture.temporary.file("keeper"), "x")
        _ = try fixture.makePart("something else")
        let delivery = try delivery(
            "a", .rename, part: FileIdentity(device: part.device, inode: part.inode &+ 1_000_000))
        #expect(code { _ = try delivery.deliver() } == .diskIO)
        #expect(!fixture.names.contains("a"))
    }

    @Test func aLinkUnderThePartsNameIsNotFollowed() throws {
        try Files.write(fixture.temporary.file("secret"), "secret")
        let identity = try fixture.identity(of: "secret")
        #expect(symlink("secret", fixture.temporary.file(FilesFixture.partName)) == 0)
        let delivery = try delivery("a", .rename, part: identity)
        #expect(code { _ = try delivery.deliver() } == .diskIO)
        #expect(try fixture.text("secret") == "secret")
    }

    @Test func aFolderReplacedByALinkGetsNothing() throws {
        let real = try fixture.temporary.folder("real")
        let trap = try fixture.temporary.folder("trap")
        let folder = try fixture.access.openFolder(real, owner: FilesFixture.me, create: false)
        try Files.write(real + "/" + FilesFixture.partName, "content")
        let status = try #require(Files.status(real + "/" + FilesFixture.partName))
        #expect(rename(real, fixture.temporary.file("moved")) == 0)
        #expect(symlink(trap, real) == 0)
        let delivery = try Delivery(
            folder: folder, partName: FilesFixture.partName,
            part: FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)), name: "a",
            policy: .rename)
        #expect(code { _ = try delivery.deliver() } == .diskIO)
        #expect(Files.names(in: trap).isEmpty)
        #expect(Files.names(in: fixture.temporary.file("moved")) == [FilesFixture.partName])
    }

    @Test(arguments: ["", ".", "..", "a/b", "a\0b", String(repeating: "ä", count: 128)])
    func aNameThatNoFileCanHaveIsRefused(name: String) throws {
        let part = try fixture.makePart()
        #expect(code { _ = try delivery(name, .rename, part: part) } == .destinationBadPath)
    }
}
