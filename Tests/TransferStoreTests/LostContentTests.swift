import Foundation
import Testing
import TransferModel

@testable import TransferStore

/// SQLite would remove the log beside an empty file, and begin anew.
@Suite struct LostContentTests {
    let fixture = Fixture()

    /// As a daemon leaves it that was killed.
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
            #expect(error?.message.contains("Restore") == true && error?.message.contains("move both away") == true)
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
        #expect(unlink(fixture.database) == 0)
        try await fixture.open().add(newTask())
    }

    /// Before its first write it has made these.
    @Test func aStartThatWasKilledAtOnceIsNoQueue() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        for name in ["dld.sqlite", "lock", "offsets.journal", "dld.log"] {
            try Data().write(to: URL(fileURLWithPath: fixture.folder + "/" + name))
        }
        try Data("17\n".utf8).write(to: URL(fileURLWithPath: fixture.folder + "/lock"))
        try await fixture.open().add(newTask())
    }
}
