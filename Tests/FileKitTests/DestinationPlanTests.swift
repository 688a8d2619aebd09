import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import FileKit

struct DestinationPlanTests {
    private let fixture: FilesFixture

    init() throws { fixture = try FilesFixture() }

    private func destination(path: String? = nil, directory: String? = nil, filename: String? = nil) -> Destination {
        var destination = Destination()
        destination.path = path
        destination.directory = directory
        destination.filename = filename
        return destination
    }

    @Test func aPathIsAFolderAndAName() throws {
        let plan = try DestinationPlan(destination(path: "/srv/data/a.bin"))
        #expect(plan.folder == "/srv/data")
        #expect(plan.name == "a.bin")
        #expect(try DestinationPlan(destination(path: "/a")).folder == "/")
    }

    @Test func aFolderLeavesTheNameToTheServer() throws {
        #expect(try DestinationPlan(destination(directory: "/srv/")).name == nil)
        #expect(try DestinationPlan(destination(directory: "/srv", filename: "a")).name == "a")
        #expect(try DestinationPlan(Destination(directory: "/home/me")).folder == "/home/me")
    }

    @Test(arguments: [
        "relative/a", "", "/srv/", "/srv/..", "/srv/.", "/a\0b", "/" + String(repeating: "n", count: 256),
        "/" + String(repeating: "n/", count: 2100) + "a",
    ])
    func aPathThatCannotBeAFileIsRefused(path: String) {
        #expect(
            code { _ = try DestinationPlan(destination(path: path)) } == .destinationBadPath)
    }

    @Test(arguments: ["", "..", "a/b", "a\0"])
    func aFilenameIsOneComponent(name: String) {
        #expect(
            code { _ = try DestinationPlan(destination(directory: "/srv", filename: name)) }
                == .destinationBadPath)
    }

    @Test func contradictionsAndAbsenceAreTheCallersMistake() {
        #expect(code { _ = try DestinationPlan(destination(path: "/a", directory: "/b")) } == .badField)
        #expect(code { _ = try DestinationPlan(nil) } == .badField)
    }

    @Test func admissionCreatesMissingFoldersAndTellsTheDevice() throws {
        let plan = try DestinationPlan(destination(path: fixture.temporary.file("new/deep/a")))
        let folder = try plan.admit(fixture.access, owner: FilesFixture.me)
        #expect(Files.status(fixture.temporary.file("new/deep"))?.st_mode ?? 0 & S_IFMT != 0)
        #expect(folder.device == UInt64(try #require(Files.status(fixture.temporary.path)).st_dev))
    }

    @Test func aFolderOrADeviceUnderTheNameIsRefused() throws {
        try fixture.temporary.folder("folder")
        #expect(mkfifo(fixture.temporary.file("fifo"), 0o600) == 0)
        for name in ["folder", "fifo"] {
            let plan = try DestinationPlan(destination(path: fixture.temporary.file(name)))
            #expect(code { _ = try plan.admit(fixture.access, owner: FilesFixture.me) } == .destinationBadPath)
        }
    }

    /// The reason comes when the task is added, and not after the whole download.
    @Test(arguments: [
        ("a:b", NameLimits(areWindows: true)), (String(repeating: "n", count: 144), NameLimits(longest: 143)),
    ])
    func aNameThatTheFileSystemDoesNotTakeIsRefused(name: String, limits: NameLimits) throws {
        let path = fixture.temporary.path
        let folder = try Folder(
            path: path, descriptor: Descriptor(open(path, O_DIRECTORY | O_CLOEXEC)), names: limits)
        let plan = try DestinationPlan(destination(path: fixture.temporary.file(name)))
        let error = #expect(throws: TransferError.self) {
            try plan.admit(fixture.access, owner: FilesFixture.me, known: folder)
        }
        #expect(error?.code == .destinationBadPath && error?.message.contains("in this folder") == true)
        #expect(code { _ = try plan.admit(fixture.access, owner: FilesFixture.me) } == nil)
    }

    /// One reading of a folder stands for a look at each name, but only while nothing in it is in the way.
    @Test(arguments: ["folder", "fifo", "file", "link"])
    func oneOfManyNamesIsRefusedLikeASingleOne(_ kind: String) throws {
        let taken = fixture.temporary.file("n30")
        switch kind {
        case "folder": try fixture.temporary.folder("n30")
        case "fifo": #expect(mkfifo(taken, 0o600) == 0)
        case "file": try Files.write(taken, "x")
        default: #expect(symlink(fixture.temporary.path, taken) == 0)
        }
        let plans = try (0..<40).map { try DestinationPlan(destination(path: fixture.temporary.file("n\($0)"))) }
        let looks = DestinationPlan.admit(plans[...], fixture.access, owner: FilesFixture.me)
        let mayBeReplaced = kind == "file" || kind == "link"
        #expect(looks.count == (mayBeReplaced ? 40 : 31))
        #expect(looks.prefix(30).allSatisfy { (try? $0.get()) != nil })
        #expect(code { _ = try looks.last?.get() } == (mayBeReplaced ? nil : .destinationBadPath))
    }

    @Test func aFileInTheMiddleOfThePathIsRefused() throws {
        try Files.write(fixture.temporary.file("file"), "x")
        let plan = try DestinationPlan(destination(path: fixture.temporary.file("file/sub/a")))
        #expect(code { _ = try plan.admit(fixture.access, owner: FilesFixture.me) } == .destinationBadPath)
    }

    @Test func anExistingFileIsLeftToDelivery() throws {
        try Files.write(fixture.temporary.file("a"), "x")
        let plan = try DestinationPlan(destination(path: fixture.temporary.file("a")))
        #expect(code { _ = try plan.admit(fixture.access, owner: FilesFixture.me) } == nil)
    }

    @Test func anAbsentTargetIsWaitedForAndNeverRecreated() throws {
        let plan = try DestinationPlan(destination(path: fixture.temporary.file("gone/a")))
        let device = try plan.admit(fixture.access, owner: FilesFixture.me).device
        rmdir(fixture.temporary.file("gone"))
        #expect(code { _ = try plan.open(fixture.access, owner: FilesFixture.me, device: device) } == .diskIO)
        #expect(fixture.names.isEmpty)
    }

    @Test func anotherDeviceIsAnAbsentTarget() throws {
        let plan = try DestinationPlan(destination(directory: fixture.temporary.path))
        let device = try plan.admit(fixture.access, owner: FilesFixture.me).device
        #expect(code { _ = try plan.open(fixture.access, owner: FilesFixture.me, device: device) } == nil)
        #expect(code { _ = try plan.open(fixture.access, owner: FilesFixture.me, device: device &+ 1) } == .diskIO)
    }

    /// Clients give other advice for a folder that is gone than for one that something is mounted over.
    @Test func whatIsWrongWithTheFolderIsInTheDetails() throws {
        let plan = try DestinationPlan(destination(path: fixture.temporary.file("gone/a")))
        let device = try plan.admit(fixture.access, owner: FilesFixture.me).device
        func fault(_ device: UInt64?) -> FolderFault? {
            do throws(TransferError) {
                _ = try plan.open(fixture.access, owner: FilesFixture.me, device: device)
                return nil
            } catch {
                return error.folderFault
            }
        }
        #expect(fault(device) == nil && fault(device &+ 1) == .otherFileSystem)
        rmdir(fixture.temporary.file("gone"))
        #expect(fault(device) == .missing)
    }
}
