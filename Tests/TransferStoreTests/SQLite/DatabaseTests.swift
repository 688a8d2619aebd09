import Dispatch
import Glibc
import TestSupport
import Testing
import Threading
import TransferModel

@testable import TransferStore

@Suite struct DatabaseTests {
    private let fixture = Fixture()

    /// There are more readers than connections, so the last readers wait for the first.
    @Test func readersWaitForAConnection() async throws {
        let store = try fixture.open()
        let (entered, peak) = (Guarded(0), Guarded(0))
        let release = DispatchSemaphore(value: 0)
        let reads = (0..<Database.readers + 2).map { _ in
            Task {
                try await store.read { snapshot in
                    let now = entered.withLock { count in
                        count += 1
                        return count
                    }
                    peak.withLock { $0 = max($0, now) }
                    release.wait()
                    entered.withLock { $0 -= 1 }
                    return try snapshot.counts()
                }
            }
        }
        try await until { entered.withLock { $0 } == Database.readers }
        for _ in reads { release.signal() }
        for read in reads { _ = try await read.value }
        #expect(peak.withLock { $0 } == Database.readers)
    }

    /// A socket cannot be opened by its name, so SQLite gives the same error as without a free descriptor
    /// (SQLITE_CANTOPEN).
    @Test func whatCannotBeOpenedAgainIsReadByTheConnectionThatWrites() throws {
        let folder = try TemporaryFolder()
        let writer = try Connection(folder.file("a"))
        try writer.execute("CREATE TABLE kept (number INTEGER); INSERT INTO kept VALUES (7)")
        func read(_ database: Database) throws -> [Int64] {
            try database.read { try $0.rows("SELECT number FROM kept").map { $0[0] as Int64 } }
        }
        try #require(mknod(folder.file("socket"), S_IFSOCK | 0o600, 0) == 0)
        let database = Database(writer, path: folder.file("socket"))
        #expect(try read(database) == [7])
        #expect(database.close())
        // If the database file is gone, it is not read from memory.
        let orphan = Database(try Connection(folder.file("a")), path: folder.file("gone"))
        #expect(throws: SQLiteError.self) { try read(orphan) }
        #expect(orphan.close())
    }

    @Test func aReadSeesOneCommit() async throws {
        let store = try fixture.open()
        let (first, second) = try store.readHere { snapshot in
            let first = try snapshot.counts()[.queued]
            let added = DispatchSemaphore(value: 0)
            store.write({ _ = try $0.insert(newTask()) }, then: { _ in added.signal() })
            added.wait()
            return (first, try snapshot.counts()[.queued])
        }
        #expect(first == 0 && second == 0)
        #expect(try store.readHere { try $0.counts()[.queued] } == 1)
    }

    @Test func connectionsThatWereGivenBackAreClosedForTheirMemory() async throws {
        let store = try fixture.open()
        _ = try await store.read { try $0.counts() }
        store.database.releaseMemory()
        #expect(try await store.read { try $0.counts() }[.queued] == 0)
    }

    @Test func aClosedStoreRefusesReads() async throws {
        let store = try fixture.open()
        store.close()
        let error = await transferError { _ = try await store.read { try $0.counts() } }
        #expect(error?.code == .shuttingDown)
    }
}
