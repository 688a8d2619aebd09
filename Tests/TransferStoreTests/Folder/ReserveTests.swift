import Foundation
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// A small file system of its own. Nil if this process may not mount one.
private final class SmallDisk: Sendable {
    private let folder: TemporaryFolder

    init?(mebibytes: Int) {
        guard let folder = try? TemporaryFolder(),
            mount("tmpfs", folder.path, "tmpfs", 0, "size=\(mebibytes)m") == 0
        else { return nil }
        self.folder = folder
    }

    deinit {
        umount2(path, 2)  // MNT_DETACH
    }

    var path: String { folder.path }

    /// Uses all free space except `kibibytes`.
    func fill(leaving kibibytes: Int64) throws {
        var info = statvfs()
        let known = statvfs(path, &info)
        try #require(known == 0)
        let size = Int(Int64(info.f_bavail) * Int64(info.f_bsize) - kibibytes * 1024)
        let descriptor = open(path + "/filler", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { Glibc.close(descriptor) }
        try #require(posix_fallocate(descriptor, 0, size) == 0)
    }

    func empty() { unlink(path + "/filler") }

    static let isPossible = SmallDisk(mebibytes: 1) != nil
}

@Suite struct ReserveTests {
    private func blocks(_ path: String) -> Int64 {
        var info = stat()
        return stat(path, &info) == 0 ? Int64(info.st_blocks) * 512 : -1
    }

    @Test func theReserveIsRealSpace() async throws {
        let fixture = Fixture()
        let store = try fixture.open()
        #expect(!store.isStorageLow)
        #expect(blocks(fixture.folder + "/reserve") >= 16 << 20)
    }

    /// Otherwise the store would refuse new tasks for lack of space that exists.
    @Test(arguments: [S_IFLNK, S_IFIFO, S_IFSOCK, S_IFDIR])
    func whatElseHasItsNameGivesWay(_ kind: mode_t) throws {
        let fixture = Fixture()
        try fixture.open().close()
        let (path, elsewhere) = (fixture.folder + "/reserve", fixture.folder + "/elsewhere")
        unlink(path)
        let made =
            switch kind {
            case S_IFLNK: symlink(elsewhere, path)
            case S_IFDIR: mkdir(path, 0o700)
            default: mknod(path, kind | 0o600, 0)
            }
        #expect(made == 0)
        let store = try fixture.open()
        #expect(!store.isStorageLow)
        #expect(blocks(path) >= 16 << 20)
        #expect(blocks(elsewhere) == -1)
        store.close()
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount a tmpfs"))
    func aFullDiskRefusesAddsAndKeepsStateChanges() async throws {
        let disk = try #require(SmallDisk(mebibytes: 32))
        let store = try TransferStore(folder: disk.path + "/state")
        let ids = try await store.write { transaction in
            try (0..<200).map { _ in try transaction.insert(newTask()).id }
        }
        try disk.fill(leaving: 64)
        var new = newTask()
        new.spec.description = String(repeating: "x", count: 4000)
        var refusal: TransferError?
        for _ in 0..<500 where refusal == nil {
            do {
                try await store.write { [new] transaction in
                    for _ in 0..<10 { try transaction.insert(new) }
                }
            } catch let error as TransferError {
                refusal = error
            }
        }
        #expect(refusal?.code == .diskFull)
        #expect(store.isStorageLow)
        #expect(!store.restoreReserve())
        for id in ids {
            let changed = try await store.write { transaction in
                try transaction.append(event(.taskPaused, task: id))
                return try transaction.update(id, from: .queued, to: status(.paused))
            }
            #expect(changed)
        }
        disk.empty()
        #expect(store.restoreReserve())
        #expect(!store.isStorageLow)
        try await store.write { [new] in _ = try $0.insert(new) }
        let (counts, head) = try await store.read { (try $0.counts(), try $0.eventHead()) }
        #expect(counts[.paused] == 200)
        #expect(head == SequenceNumber(200))
        store.close()
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount a tmpfs"))
    func aDiskWithoutRoomForTheReserveStartsLow() async throws {
        let disk = try #require(SmallDisk(mebibytes: 8))
        let store = try TransferStore(folder: disk.path + "/state")
        #expect(store.isStorageLow)
        let error = await transferError { try await store.add(newTask()) }
        #expect(error?.code == .diskFull)
        try await store.write { _ = try $0.append(event()) }
        store.close()
    }
}
