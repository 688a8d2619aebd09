import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct StateFolderTests {
    let fixture = Fixture()

    private func mode(_ path: String) -> mode_t? {
        var info = stat()
        return stat(path, &info) == 0 ? info.st_mode & 0o777 : nil
    }

    @Test func everythingIsPrivate() async throws {
        let store = try TransferStore(folder: fixture.folder + "/deep/er")
        try await store.add(newTask())
        #expect(mode(fixture.folder) == 0o700)
        #expect(mode(fixture.folder + "/deep/er") == 0o700)
        for name in ["dld.sqlite", "dld.sqlite-wal", "dld.sqlite-shm", "lock", "reserve"] {
            #expect(mode("\(fixture.folder)/deep/er/\(name)") == 0o600, "\(name)")
        }
    }

    @Test func filesThatOthersCouldReadAreClosed() async throws {
        try fixture.open().close()
        try #require(chmod(fixture.database, 0o644) == 0)
        let store = try fixture.open()
        try await store.add(newTask())
        #expect(mode(fixture.database) == 0o600)
        #expect(mode(fixture.database + "-wal") == 0o600)
        #expect(mode(fixture.database + "-shm") == 0o600)
    }

    @Test func theSecondDaemonLearnsWhoHoldsTheLock() async throws {
        let store = try fixture.open()
        store.note(sockets: ["/run/user/1000/dld/dld.sock", "/state/dld.sock"])
        let first = await transferError { _ = try fixture.open() }
        #expect(first?.message.contains("listens on /run/user/1000/dld/dld.sock and /state/dld.sock; ") == true)
        store.note(sockets: ["/state/dld.sock"])
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .limitReached)
        #expect(error?.message.contains("pid \(getpid())") == true)
        #expect(error?.message.contains("stop it, or name another state folder with --state-dir.") == true)
        #expect(error?.message.contains("listens on /state/dld.sock; ") == true)
        #expect(error?.details["pid"] == .integer(Int64(getpid())))
        #expect(error?.details["sockets"] == ["/state/dld.sock"])
        store.close()
        try fixture.open().close()
    }

    /// A process that a daemon is just starting has its lock too, and ends a moment after a daemon that is killed.
    @Test func theLockOfADaemonThatDiedIsWaitedFor() throws {
        let holder = try heldLock(notedPid: nobody)
        defer { close(holder) }
        var pauses = 0
        let lock = try InstanceLock(path: fixture.folder + "/lock") {
            pauses += 1
            if pauses == 3 { flock(holder, LOCK_UN) }
        }
        #expect(pauses == 3)
        lock.release()
    }

    @Test func theWaitForALockEnds() throws {
        let holder = try heldLock(notedPid: nobody)
        defer { close(holder) }
        var pauses = 0
        let error = #expect(throws: TransferError.self) {
            _ = try InstanceLock(path: fixture.folder + "/lock") { pauses += 1 }
        }
        #expect(pauses == InstanceLock.attempts - 1)
        #expect(error?.code == .limitReached && error?.details["pid"] == .integer(Int64(nobody)))
    }

    @Test(arguments: [nil, getpid()]) func theLockOfADaemonThatLivesIsNotWaitedFor(_ pid: pid_t?) throws {
        let holder = try heldLock(notedPid: pid)
        defer { close(holder) }
        #expect(throws: TransferError.self) {
            _ = try InstanceLock(path: fixture.folder + "/lock") { Issue.record("It waits.") }
        }
    }

    /// No process has this id: the kernel's are at most 4,194,304 (pid_max in proc(5)).
    private let nobody = pid_t.max

    /// - Returns: the descriptor of a lock that another process could hold.
    private func heldLock(notedPid: pid_t?) throws -> Int32 {
        try makeFolder()
        let descriptor = open(fixture.folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        let text = notedPid.map { "\($0)\nopen\n" } ?? ""
        try #require(write(descriptor, text, text.utf8.count) == text.utf8.count)
        return descriptor
    }

    @Test func anUnusableFolderIsNamed() async throws {
        try fixture.open().close()
        let below = fixture.database + "/state"
        let notAFolder = await transferError { _ = try TransferStore(folder: below) }
        #expect(notAFolder?.code == .diskIO)
        #expect(notAFolder?.message.contains(fixture.database) == true)
        let readOnly = await transferError { _ = try TransferStore(folder: "/proc/self/dld") }
        #expect(readOnly?.message.contains("/proc/self/dld") == true)
    }

    /// The disk failed while the database was created, and lost the bytes that it had accepted.
    @Test func aFileOfZerosIsTheBeginningOfADatabase() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        try Data(count: 12_288).write(to: URL(fileURLWithPath: fixture.database))
        let store = try fixture.open()
        try await store.add(newTask())
        store.close()
        var other = Data(count: 12_288)
        other[12_000] = 1
        try other.write(to: URL(fileURLWithPath: fixture.database))
        for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: fixture.database + name) }
        #expect(await transferError { _ = try fixture.open() }?.code == .diskIO)
        #expect(FileManager.default.contents(atPath: fixture.database) == other)
    }

    /// SQLite would wait for ever for a writer of the FIFO.
    @Test(.timeLimit(.minutes(1)), arguments: ["", "-wal", "-shm"], [S_IFIFO, S_IFSOCK])
    func whatIsNoFileIsNamed(_ suffix: String, _ kind: mode_t) async throws {
        if !suffix.isEmpty { try fixture.open().close() } else { try makeFolder() }
        let path = fixture.database + suffix
        unlink(path)
        #expect(mknod(path, kind | 0o600, 0) == 0)
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .diskIO)
        #expect(error?.message.hasPrefix("\(path) is not a regular file") == true, "\(error?.message ?? "")")
    }

    @Test func aFolderInPlaceOfTheLockIsNamed() async throws {
        try makeFolder()
        #expect(mkdir(fixture.folder + "/lock", 0o700) == 0)
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.message.contains("Is a directory") == true, "\(error?.message ?? "")")
    }

    @Test func aFileInPlaceOfTheFolderIsNamed() async throws {
        try Data().write(to: URL(fileURLWithPath: fixture.folder))
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.message.contains("Not a directory") == true, "\(error?.message ?? "")")
    }

    /// Other users could replace the database with their own.
    @Test(arguments: [0o777, 0o1777, 0o770, 0o702] as [mode_t])
    func aFolderThatOthersMayWriteInIsRefused(_ mode: mode_t) async throws {
        try makeFolder()
        try #require(chmod(fixture.folder, mode) == 0)
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .permissionDenied && error?.retryable == false)
        #expect(error?.message.contains("mode 0\(String(mode, radix: 8))") == true)
        #expect(error?.message.contains("chmod go-w") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder).isEmpty)
        try #require(chmod(fixture.folder, 0o755) == 0)
        try fixture.open().close()
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives folders away"))
    func aFolderOfSomebodyElseIsRefused() async throws {
        try makeFolder()
        try #require(chown(fixture.folder, 4711, 4711) == 0)
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .permissionDenied)
        #expect(error?.message.contains("user 4711") == true)
    }

    @Test func theParentMayBeOpenToAll() throws {
        try makeFolder()
        try #require(chmod(fixture.folder, 0o1777) == 0)
        try TransferStore(folder: fixture.folder + "/mine").close()
    }

    private func makeFolder() throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
    }

    @Test func aLinkInPlaceOfTheDatabaseIsNotFollowed() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: fixture.database, withDestinationPath: fixture.folder + "/elsewhere")
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .diskIO)
        #expect(!FileManager.default.fileExists(atPath: fixture.folder + "/elsewhere"))
    }
}
