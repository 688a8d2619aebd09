import CSQLite
import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct SchemaTests {
    let fixture = Fixture()

    /// The FNV-1a hash of each text that a database was given. If one changes, existing databases differ from new ones:
    /// add a text instead.
    @Test func textsNeverChange() {
        let fingerprints = Schema.texts.map {
            $0.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        }
        #expect(fingerprints == [17_594_011_541_627_471_404])
    }

    @Test func aNewerDatabaseIsRefusedAndLeftAsItIs() async throws {
        try fixture.open().close()
        let queue = try Connection(fixture.database)
        try queue.execute("PRAGMA user_version = 9999")
        queue.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("newer dld (schema 9999)") == true)
        #expect(error?.message.contains(fixture.database) == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)) == before)
    }

    @Test func aNewerDatabaseWhoseLogWasNotCheckpointedIsRefusedToo() async throws {
        let original = Fixture()
        let store = try original.open()
        try await store.write { try $0.execute("PRAGMA user_version = 9999") }
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: original.database + suffix, toPath: fixture.database + suffix)
        }
        let paths = ["", "-wal"].map { URL(fileURLWithPath: fixture.database + $0) }
        let before = try paths.map { try Data(contentsOf: $0) }
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.message.contains("schema 9999") == true)
        #expect(try paths.map { try Data(contentsOf: $0) } == before)
    }

    @Test func garbageIsRefusedAndLeftAsItIs() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let garbage = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 37) })
        try garbage.write(to: URL(fileURLWithPath: fixture.database))
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .diskIO)
        #expect(error?.message.contains("not a readable database") == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)) == garbage)
    }

    @Test func aDatabaseOfAnotherProgramIsRefused() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let queue = try Connection(fixture.database)
        try queue.write { try $0.execute("CREATE TABLE theirs (x)") }
        queue.close()
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.message.contains("another program") == true)
    }

    @Test func anEmptyFileOfAnInterruptedStartIsTaken() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        try Data().write(to: URL(fileURLWithPath: fixture.database))
        let store = try fixture.open()
        try await store.add(newTask())
    }

    /// After all named files are moved away, the daemon can start.
    @Test func everythingThatKeepsFromAnEmptyStartIsNamed() async throws {
        let store = try fixture.open()
        try await store.add(newTask())
        store.close()
        let file = URL(fileURLWithPath: fixture.database)
        try Data(repeating: 0xa5, count: Data(contentsOf: file).count).write(to: file)
        try Data([1]).write(to: URL(fileURLWithPath: fixture.folder + "/offsets.journal"))
        let error = await transferError { _ = try fixture.open() }
        for name in ["dld.sqlite", "reserve", "offsets.journal"] {
            let path = "\(fixture.folder)/\(name)"
            #expect(error?.message.components(separatedBy: "move away").last?.contains(path) == true, "\(path)")
            #expect(rename(path, path + ".old") == 0)
        }
        try await fixture.open().add(newTask())
    }

    @Test func aFullFolderIsNamedWithWhatToDo() {
        let folder = StateFolder(path: "/state")
        let error = Database.refusal(of: folder, SQLiteError(SQLITE_FULL, "It is full."))
        #expect(error.code == .diskFull)
        #expect(error.message.contains("Free some space there and start again; nothing was changed."))
    }
}
