import Glibc
import TestSupport
import Testing
import TransferModel

@testable import FileKit

@Suite struct GatheredDeliveryTests {
    private let fixture: FilesFixture
    private let task = TaskID(7)

    init() throws { fixture = try FilesFixture() }

    private func delivery(
        _ text: String = "content", _ name: String = "a", _ policy: ConflictPolicy = .rename,
        _ durability: Durability = .full, in folder: Folder? = nil, time: Int64? = nil, isProven: Bool = true
    ) throws -> GatheredDelivery {
        GatheredDelivery(
            folder: try folder ?? fixture.open(), bytes: Array(text.utf8), name: name, wanted: nil,
            policy: policy, store: "store", task: task, durability: durability,
            isProven: isProven, modificationTime: time)
    }

    private func recognised(
        _ name: String = "a", _ policy: ConflictPolicy = .rename, task: TaskID? = nil, store: String = "store"
    ) throws -> GatheredDelivery.Placed? {
        try GatheredDelivery.recognised(
            in: try fixture.open(), name: name, policy: policy, store: store, task: task ?? self.task,
            durability: .full)
    }

    @Test(arguments: ConflictPolicy.allCases, Durability.allCases)
    func aFreeNameIsTakenAndNothingElseIsLeft(policy: ConflictPolicy, durability: Durability) throws {
        let placed = try #require(try delivery("whole", "a.bin", policy, durability).place())
        #expect(placed.delivered.path == fixture.temporary.file("a.bin"))
        #expect(placed.delivered.bytes == 5)
        #expect(try fixture.text("a.bin") == "whole")
        #expect(fixture.names == ["a.bin"])
    }

    /// A daemon died while a file replaced another. The next one finds the name, as that of any part file.
    @Test func theNameInBetweenIsThatOfThePart() throws {
        try Files.write(fixture.temporary.file("a"), "old")
        try Files.write(fixture.temporary.file(PartName.make(task: task, store: "store", wanted: nil)), "left")
        _ = try delivery("new", "a", .overwrite).place()
        #expect(try fixture.text("a") == "new")
        #expect(fixture.names == ["a"])
    }

    @Test func anEmptyBodyIsAFileToo() throws {
        #expect(try delivery("").place()?.delivered.bytes == .zero)
        #expect(try fixture.text("a") == "")
    }

    @Test func renameNumbersAndLeavesEveryExistingFileAlone() throws {
        try Files.write(fixture.temporary.file("a.tar.gz"), "first")
        try Files.write(fixture.temporary.file("a (1).tar.gz"), "second")
        #expect(try delivery("third", "a.tar.gz").place()?.delivered.name == "a (2).tar.gz")
        #expect(try fixture.text("a.tar.gz") == "first")
        #expect(try fixture.text("a (1).tar.gz") == "second")
        #expect(try fixture.text("a (2).tar.gz") == "third")
    }

    @Test func failLeavesTheOldFileAndNothingOfTheNew() throws {
        try Files.write(fixture.temporary.file("a"), "first")
        #expect(code { _ = try delivery("second", "a", .fail).place() } == .destinationExists)
        #expect(try fixture.text("a") == "first")
        #expect(fixture.names == ["a"])
    }

    @Test func overwriteReplacesAFileButNoFolder() throws {
        try Files.write(fixture.temporary.file("a"), "first")
        #expect(try delivery("second", "a", .overwrite).place()?.delivered.name == "a")
        #expect(try fixture.text("a") == "second")
        try #require(mkdir(fixture.temporary.file("b"), 0o755) == 0)
        #expect(code { _ = try delivery("second", "b", .overwrite).place() } == .destinationBadPath)
        #expect(fixture.names == ["a", "b"])
    }

    @Test func aFolderThatWasMovedGetsNothing() throws {
        let delivery = try delivery()
        let (path, moved) = (fixture.temporary.path, fixture.temporary.path + "-moved")
        try #require(rename(path, moved) == 0)
        #expect(code { _ = try delivery.place() } == .diskIO)
        try #require(rename(moved, path) == 0)
        #expect(fixture.names.isEmpty)
    }

    @Test func theFileGetsTheServersTimeAndTheUsualMode() throws {
        _ = try delivery(time: 1_000_000_000).place()
        let status = try #require(Files.status(fixture.temporary.file("a")))
        #expect(status.st_mtim.tv_sec == 1_000_000_000)
        let mask = umask(0)
        umask(mask)
        #expect(status.st_mode & 0o777 == 0o666 & ~mask)
    }

    @Test func anImpossibleNameIsRefused() throws {
        #expect(code { _ = try delivery("x", "a/b").place() } == .destinationBadPath)
    }

    @Test func aFileSystemWithoutNamelessFilesIsLeftToTheOtherWay() throws {
        let folder = try FileAccess(mode: .user).openFolder("/proc/self", owner: FilesFixture.me, create: false)
        var delivery = try delivery(in: folder)
        delivery.name = "dld-test"
        #expect(try delivery.place() == nil)
    }

    // MARK: - After a crash

    @Test(arguments: [true, false])
    func whatWasDeliveredIsRecognisedByItsTaskAlone(isProven: Bool) throws {
        _ = try delivery(isProven: isProven).place()
        let found = try #require(try recognised())
        #expect(found.delivered.path == fixture.temporary.file("a"))
        #expect(found.delivered.bytes == 7)
        #expect(found.isProven == isProven)
        #expect(try recognised(task: TaskID(8)) == nil)
        #expect(try recognised(store: "other") == nil)
        #expect(try recognised("b") == nil)
    }

    @Test func itIsFoundAmongOtherPeoplesFiles() throws {
        try Files.write(fixture.temporary.file("a"), "first")
        _ = try delivery().place()
        #expect(try recognised()?.delivered.name == "a (1)")
        #expect(try recognised("a", .fail) == nil)
    }

    @Test func onceToldItIsAFileLikeAnyOther() throws {
        let placed = try #require(try delivery().place())
        DeliveryMark.remove(from: placed.file.rawValue)
        #expect(try recognised() == nil)
        #expect(try fixture.text("a") == "content")
    }

    @Test func aFileThatWasCutOrWrittenToIsNotTaken() throws {
        _ = try delivery().place()
        try #require(truncate(fixture.temporary.file("a"), 3) == 0)
        #expect(try recognised() == nil)
    }

    @Test func withoutASyncTheMarkCountsInThisBootAlone() throws {
        let placed = try #require(try delivery("content", "a", .rename, .relaxed).place())
        #expect(try recognised() != nil)
        let other = DeliveryMark(store: "store", task: task, size: 7, isProven: true, boot: "another boot")
        #expect(other.set(on: placed.file.rawValue))
        #expect(try recognised() == nil)
    }
}
