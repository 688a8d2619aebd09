import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct DatabasePlaceTests {
    let fixture = Fixture()

    @Test func nothingIsAnsweredIntoAFolderThatIsGone() async throws {
        let store = try fixture.open()
        let kept = try await store.add(newTask())
        let away = fixture.folder + ".away"
        try FileManager.default.moveItem(atPath: fixture.folder, toPath: away)
        let refused = await transferError { try await store.add(newTask()) }
        #expect(refused?.code == .diskIO)
        // Writes fail too if another store has taken its place.
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        try Data().write(to: URL(fileURLWithPath: fixture.database))
        let refusedAgain = await transferError { try await store.add(newTask()) }
        #expect(refusedAgain?.code == .diskIO)
        try FileManager.default.removeItem(atPath: fixture.folder)
        try FileManager.default.moveItem(atPath: away, toPath: fixture.folder)
        let next = try await store.add(newTask())
        let counts = try await store.read { try $0.counts() }
        #expect(counts[.queued] == 2)
        #expect(next > kept)
    }

    /// Two daemons would use one database.
    @Test func aLockThatIsGoneIsNoticed() async throws {
        let store = try fixture.open()
        try FileManager.default.removeItem(atPath: fixture.folder + "/lock")
        #expect(store.loss?.message.contains("/lock was removed or replaced") == true)
        store.close()
    }

    /// SQLite would write on into a log without a name, which ends with the process.
    @Test(arguments: [false, true])
    func nothingIsAnsweredIntoALogThatIsGone(isReplaced: Bool) async throws {
        let store = try fixture.open()
        let kept = try await store.add(newTask())
        #expect(store.loss == nil)
        let log = fixture.database + "-wal"
        try FileManager.default.removeItem(atPath: log)
        if isReplaced { try Data().write(to: URL(fileURLWithPath: log)) }
        #expect(store.loss?.details["path"]?.stringValue == log)
        let refused = await transferError { try await store.add(newTask()) }
        #expect(refused?.code == .diskIO && refused?.details["path"]?.stringValue == log)
        #expect(refused?.message.contains("start dld again") == true)
        // As it is closed, SQLite moves the log into the database.
        store.close()
        let next = try fixture.open()
        #expect(try await next.read { try $0.task(kept) } != nil)
    }
}
