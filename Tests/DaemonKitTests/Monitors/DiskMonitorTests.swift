import Glibc
import TestSupport
import Testing
import TransferModel

@testable import DaemonKit
@testable import FileKit

struct DiskMonitorTests {
    private let fixture: FilesFixture
    private let monitor: DiskMonitor

    init() throws {
        fixture = try FilesFixture()
        monitor = DiskMonitor(access: fixture.access, pool: BlockingPool(width: 1))
    }

    private func need(_ folder: String, remaining: ByteCount? = 1, device: UInt64? = nil) throws -> DiskNeed {
        DiskNeed(
            plan: try DestinationPlan(Destination(directory: fixture.temporary.file(folder))), owner: FilesFixture.me,
            device: device, remaining: remaining)
    }

    private func code(_ need: DiskNeed, minimumFree: ByteCount = 0) async -> ErrorCode? {
        switch await monitor.check(need, minimumFree: minimumFree) {
        case .ready: nil
        case .notYet(let error): error.code
        }
    }

    private func free() throws -> ByteCount {
        let folder = try fixture.open()
        return try #require(folder.freeSpace)
    }

    @Test func aFolderWithRoomIsReady() async throws {
        #expect(await code(try need(".")) == nil)
        #expect(await code(try need(".", remaining: nil)) == nil)
    }

    @Test func moreThanThereIsMustWait() async throws {
        #expect(await code(try need(".", remaining: ByteCount(.max / 2))) == .diskFull)
    }

    @Test func whatMustStayFreeCounts() async throws {
        #expect(await code(try need("."), minimumFree: ByteCount(.max / 2)) == .diskFull)
    }

    @Test func aMissingFolderAndAnotherDeviceMustWait() async throws {
        #expect(await code(try need("gone")) == .diskIO)
        let device = try fixture.open().device
        #expect(await code(try need(".", device: device)) == nil)
        #expect(await code(try need(".", device: device &+ 1)) == .diskIO)
    }

    @Test func aMountThatComesBackIsNoticed() async throws {
        #expect(await code(try need("mount")) == .diskIO)
        try fixture.temporary.folder("mount")
        #expect(await code(try need("mount")) == nil)
    }

    @Test(.enabled(if: Requirements.mayAdministrate, "mounts need root"))
    func aFileSystemWithRoomButNoInodeMustWait() async throws {
        let disk = try SmallDisk(size: "4m", inodes: 2)
        let need = DiskNeed(
            plan: try DestinationPlan(Destination(directory: disk.path)), owner: FilesFixture.me, device: nil,
            remaining: 1)
        #expect(await code(need) == nil)
        try Files.write(disk.path + "/last", "")
        #expect(await code(need) == .diskFull)
        unlink(disk.path + "/last")
        #expect(await code(need) == nil)
    }

    @Test(.enabled(if: CrashableDisk.isPossible, "loop mounts need root"))
    func whatIsKeptForRootIsNoRoom() async throws {
        let disk = try await CrashableDisk.make(megabytes: 64)
        let free = ByteCount(try disk.unreservedSpace())
        func need(_ remaining: ByteCount) throws -> DiskNeed {
            DiskNeed(
                plan: try DestinationPlan(Destination(directory: disk.path)), owner: FilesFixture.me, device: nil,
                remaining: remaining)
        }
        #expect(await code(try need(free)) == nil)
        #expect(await code(try need(free + 1)) == .diskFull)
    }

    @Test func tasksOfOneFileSystemShareItsRoom() async throws {
        let half = ByteCount(try free().rawValue / 5 * 3)
        let waiting = [(1, half), (2, half), (3, ByteCount(1))]
        var needs: [(id: Int, need: DiskNeed)] = []
        for (id, remaining) in waiting { needs.append((id, try need(".", remaining: remaining))) }
        #expect(await monitor.ready(among: needs, minimumFree: 0) == [1, 3])
    }

    /// A disk that does not answer delays no other, and is not asked again.
    @Test(.enabled(if: HungDisk.isPossible, "needs FUSE and root"), .timeLimit(.minutes(1)))
    func aDiskThatHangsKeepsNoOtherWaiting() async throws {
        let hung = try HungDisk()
        let gone = DiskNeed(
            plan: try DestinationPlan(Destination(directory: hung.path)), owner: FilesFixture.me, device: 4711,
            remaining: 1)
        for _ in 0..<5 {
            #expect(await monitor.ready(among: [(1, gone), (2, try need("."))], minimumFree: 0) == [2])
        }
        withExtendedLifetime(hung) {}
    }

    @Test(.enabled(if: HungDisk.isPossible, "needs FUSE and root"), .timeLimit(.minutes(1)))
    func aDiskThatHangsIsToldFromOneThatAnswers() async throws {
        let hung = try HungDisk()
        let gone = DiskNeed(
            plan: try DestinationPlan(Destination(directory: hung.path)), owner: FilesFixture.me, device: 4711)
        for _ in 0..<3 { #expect(await !monitor.answers(gone)) }
        #expect(await monitor.answers(try need(".")))
        withExtendedLifetime(hung) {}
    }
}
