import Glibc
import TestSupport
import Testing
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

struct PartRemovalTests {
    private let fixture: FilesFixture
    private let device: UInt64

    init() throws {
        fixture = try FilesFixture()
        device = try fixture.open().device
    }

    private func part(
        _ name: String, in folder: String? = nil, device: UInt64?, inode: UInt64? = nil
    ) -> LeftPart {
        LeftPart(
            owner: FilesFixture.me, folder: folder ?? fixture.temporary.path, name: name, task: TaskID(1),
            device: device, inode: inode, recordedAt: Timestamp(milliseconds: 0))
    }

    private func removal(of parts: [LeftPart], isStopped: Bool = false) -> PartRemoval.Left {
        PartRemoval(access: fixture.access, storeID: "store").remove(parts) { isStopped }
    }

    private func left(_ parts: LeftPart...) -> [LeftPart] { removal(of: parts).all }

    @Test func whatIsThereGoesAndWhatIsGoneIsForgotten() throws {
        _ = try fixture.makePart()
        #expect(left(part(FilesFixture.partName, device: device)).isEmpty)
        #expect(fixture.names.isEmpty)
        #expect(left(part(FilesFixture.partName, device: device)).isEmpty)
        #expect(left(part(FilesFixture.partName, device: nil)).isEmpty)
        // Its folder is gone, but its file system is not.
        #expect(left(part(FilesFixture.partName, in: fixture.temporary.file("a/b"), device: device)).isEmpty)
    }

    /// Another file system is there now, without a file of that name. The part file is on its own file system.
    @Test func whatIsAwayStays() {
        for folder in [nil, fixture.temporary.file("a/b")] {
            let away = part(FilesFixture.partName, in: folder, device: device &+ 1)
            #expect(removal(of: [away]) == PartRemoval.Left(away: [away]))
        }
    }

    /// Its disk came back with another number, as disks do.
    @Test func aPartIsKnownByItsName() throws {
        _ = try fixture.makePart()
        #expect(left(part(FilesFixture.partName, device: device &+ 1)).isEmpty)
        #expect(fixture.names.isEmpty)
    }

    @Test func whatIsNotOursStays() throws {
        let other = PartName.make(task: TaskID(2), store: "store")
        let identity = try fixture.makePart(name: other)
        let strangers = PartName.make(task: TaskID(1), store: "elsewhere")
        _ = try fixture.makePart(name: strangers)
        _ = try fixture.makePart(name: "file")
        try fixture.temporary.folder(FilesFixture.partName)
        #expect(
            left(
                part(other, device: device), part(other, device: device, inode: identity.inode + 1),
                part(strangers, device: device),
                part("file", device: device, inode: try fixture.identity(of: "file").inode),
                part(FilesFixture.partName, device: device)
            ).isEmpty)
        #expect(fixture.names.count == 4)
        // The very file, under the name that it came with.
        #expect(left(part(other, device: device, inode: identity.inode)).isEmpty)
        #expect(!fixture.names.contains(other))
    }

    @Test func whoHasStoppedChangesNothing() throws {
        _ = try fixture.makePart()
        let mine = part(FilesFixture.partName, device: device)
        #expect(removal(of: [mine], isStopped: true) == PartRemoval.Left(failed: [mine]))
        #expect(fixture.names == [FilesFixture.partName])
    }
}
