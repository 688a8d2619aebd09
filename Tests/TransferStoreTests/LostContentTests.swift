import Foundation
import Testing
import TransferModel

@testable import TransferStore

/// SQLite would delete the log next to an empty file, and start over.
@Suite struct LostContentTests {
    let fixture = Fixture()

    /// Leaves the files as a killed daemon does.
    private func leaveLog() async throws {
        let away = fixture.folder + ".copy"
        let store = try fixture.open()
        try await store.add(newTask())
        try FileManager.default.copyItem(atPath: fixture.folder, toPath: away)
        store.close()
        try FileManager.default.removeItem(atPath: fixture.folder)
        try FileManager.default.moveItem(atPath: away, toPath: fixture.folder)
    }

    @Test func anEmptyDatabaseBesideItsLogIsRefused() async throws {
        try await leaveLog()
        try Data().write(to: URL(fileURLWithPath: fixture.database))
        unlink(fixture.folder + "/reserve")
        let before = FileManager.default.contents(atPath: fixture.database + "-wal")
        for _ in 0..<2 {
            let error = await transferError { _ = try fixture.open() }
            #expect(error?.code == .diskIO && error?.retryable == false)
            #expect(error?.message.hasPrefix("\(fixture.database) is empty, but \(fixture.database)-wal") == true)
            #expect(
                error?.message.contains("Put back") == true
                    && error?.message.contains("move away \(fixture.database) and \(fixture.database)-wal") == true)
        }
        #expect(
            (before?.count ?? 0) > 32 && FileManager.default.contents(atPath: fixture.database + "-wal") == before)
        for suffix in ["", "-wal"] {
            #expect(rename(fixture.database + suffix, fixture.database + suffix + ".old") == 0)
        }
        try await fixture.open().add(newTask())
    }

    @Test(arguments: ["reserve", "offsets.journal"], [0, 8192])
    func anEmptyDatabaseBesideWhatFollowsItIsRefused(_ proof: String, _ length: Int) async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        try Data(count: length).write(to: URL(fileURLWithPath: fixture.database))
        try Data([1]).write(to: URL(fileURLWithPath: fixture.folder + "/" + proof))
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.details["proof"] == .string("\(fixture.folder)/\(proof)"), "\(error?.message ?? "")")
        #expect(FileManager.default.contents(atPath: fixture.database)?.count == length)
        #expect(unlink(fixture.database) == 0 && unlink("\(fixture.folder)/\(proof)") == 0)
        try await fixture.open().add(newTask())
    }

    @Test(arguments: ["dld.sqlite-wal", "reserve", "offsets.journal"])
    func aMissingDatabaseBesideWhatFollowsItIsRefused(_ proof: String) async throws {
        try await leaveLog()
        try Data([1]).write(to: URL(fileURLWithPath: fixture.folder + "/offsets.journal"))
        for name in ["dld.sqlite", "dld.sqlite-wal", "dld.sqlite-shm", "reserve", "offsets.journal"] where name != proof
        {
            unlink("\(fixture.folder)/\(name)")
        }
        let before = FileManager.default.contents(atPath: "\(fixture.folder)/\(proof)")
        for _ in 0..<2 {
            let error = await transferError { _ = try fixture.open() }
            #expect(error?.code == .diskIO && error?.retryable == false)
            #expect(
                error?.message.hasPrefix("\(fixture.database) is missing, but \(fixture.folder)/\(proof) shows") == true
            )
        }
        #expect(FileManager.default.contents(atPath: "\(fixture.folder)/\(proof)") == before)
        #expect(!FileManager.default.fileExists(atPath: fixture.database))
    }

    /// The tables are in the log until the first checkpoint.
    @Test(arguments: ["reserve", "offsets.journal"], [false, true])
    func aCopyWithoutItsLogIsRefused(_ proof: String, _ hasEmptyLog: Bool) async throws {
        try await leaveLog()
        try Data([1]).write(to: URL(fileURLWithPath: fixture.folder + "/offsets.journal"))
        for name in ["dld.sqlite-wal", "dld.sqlite-shm", "reserve", "offsets.journal"] where name != proof {
            unlink("\(fixture.folder)/\(name)")
        }
        if hasEmptyLog { try Data().write(to: URL(fileURLWithPath: fixture.database + "-wal")) }
        let before = FileManager.default.contents(atPath: fixture.database)
        #expect(before?.count == 4096)
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.message.hasPrefix("\(fixture.database) holds no tables, but") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("put that back beside it") == true)
        #expect(error?.details["proof"] == .string("\(fixture.folder)/\(proof)"))
        #expect(FileManager.default.contents(atPath: fixture.database) == before)
    }

    /// A daemon creates these files before its first write.
    @Test func aStartThatWasKilledAtOnceIsNoQueue() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        for name in ["dld.sqlite", "lock", "offsets.journal", "dld.log"] {
            try Data().write(to: URL(fileURLWithPath: fixture.folder + "/" + name))
        }
        try Data("17\n".utf8).write(to: URL(fileURLWithPath: fixture.folder + "/lock"))
        try await fixture.open().add(newTask())
    }

    /// The changes in the log are lost, and SQLite would not report it.
    @Test func aLogThatIsGoneIsTold() async throws {
        try fixture.open().close()
        try await leaveLog()
        #expect(unlink(fixture.database + "-wal") == 0)
        let store = try fixture.open()
        #expect(store.missingLog == fixture.database + "-wal")
        store.close()
        for _ in 0..<2 {
            let next = try fixture.open()
            #expect(next.missingLog == nil)
            next.close()
        }
    }

    @Test func aLogThatIsThereIsNotMissed() async throws {
        try await leaveLog()
        #expect(try fixture.open().missingLog == nil)
    }
}
