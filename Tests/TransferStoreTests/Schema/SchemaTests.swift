import CSQLite
import Foundation
import TestSupport
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
        #expect(fingerprints == [17_594_011_541_627_471_404, 15_088_193_318_648_597_933])
    }

    /// The folder of the first release: what it stored stays, and the new reasons are accepted.
    @Test func aDatabaseOfVersionOneGoesOn() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let first = try Connection(fixture.database)
        try first.execute(
            "PRAGMA auto_vacuum = 2; PRAGMA journal_mode = wal;" + Schema.version1
                + """
                PRAGMA application_id = \(Schema.application); PRAGMA user_version = 1;
                INSERT INTO session (id, owner, identifier, kind, state, configuration, created_at)
                    VALUES (1, 1000, 's', 'background', 'active', '{}', 0);
                INSERT INTO lane (id, session, host) VALUES (1, 1, 'h');
                INSERT INTO task (id, session, lane, kind, priority, position, state, reason, attempts, failures_in_row,
                    integrity_restarts, created_at, budget_used, url, spec)
                    VALUES (1, 1, 1, 'download', 0.5, 1, 'waiting', 'metered', 0, 0, 0, 0, 0, 'https://h/', '{"url":"https://h/"}');
                UPDATE counter SET value = 1 WHERE name = 'task';
                """)
        #expect(throws: SQLiteError.self) { try first.execute("UPDATE task SET reason = 'power'") }
        first.close()
        for reason in WaitReason.allCases {
            let store = try fixture.open()
            let status = try await store.read { try $0.task(TaskID(1))?.status }
            #expect(status?.state == .waiting)
            try await store.write { transaction in
                var waiting = try #require(status)
                waiting.reason = reason
                #expect(try transaction.update(TaskID(1), from: .waiting, to: waiting))
            }
            await #expect(throws: TransferError.self) {
                try await store.write { try $0.execute("UPDATE task SET reason = 'none'") }
            }
            let (check, version) = try store.database.read { database in
                (try database.texts("PRAGMA integrity_check"), try database.integer("PRAGMA user_version"))
            }
            #expect(check == ["ok"] && version == 2)
            store.close()
        }
    }

    /// What a newer dld leaves: after a clean stop, after `kill -9` with the new version only in the log, and the same with
    /// the index of the log.
    @Test(arguments: [[""], ["", "-wal"], ["", "-wal", "-shm"]])
    func aNewerDatabaseIsRefusedAndNoFileIsTouched(_ files: [String]) async throws {
        // The characters that mean something in the names by which SQLite opens it.
        let temporary = try TemporaryFolder()
        let folder = try temporary.folder("a ?b#c%20&d", mode: 0o700)
        let original = Fixture()
        let store = try original.open()
        try await store.write { try $0.execute("PRAGMA user_version = 9999") }
        if files.count == 1 { store.close() }
        for suffix in files {
            try Files.write("\(folder)/dld.sqlite\(suffix)", Files.read(original.database + suffix), mode: 0o640)
        }
        try Files.write("\(folder)/lock", "\(pid_t.max)\nopen\n")
        let before = try Files.state(of: folder)
        for _ in 0..<2 {
            let error = await transferError { _ = try TransferStore(folder: folder) }
            #expect(error?.code == .stateNewer && error?.retryable == false)
            #expect(error?.message.contains("\(folder)/dld.sqlite was written by a newer dld (schema 9999;") == true)
            #expect(error?.details["schema"] == "9999")
            #expect(try Files.state(of: folder) == before)
        }
    }

    @Test(arguments: [Int64(0), -1, -2_147_483_648])
    func aNumberThatNoSchemaHasIsRefusedAndNoFileIsTouched(_ version: Int64) async throws {
        let store = try fixture.open()
        try await store.write { try $0.execute("PRAGMA user_version = \(version)") }
        store.close()
        let before = try Files.read(fixture.database)
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .unsupported && error?.details["schema"]?.stringValue == "\(version)")
        #expect(try Files.read(fixture.database) == before)
    }

    /// The version in the log counts: a database that is older there is opened.
    @Test func aNewerVersionThatTheLogTookBackIsNone() async throws {
        try fixture.open().close()
        let queue = try Connection(fixture.database)
        try queue.execute("PRAGMA user_version = 9999")
        queue.close()
        let log = try Connection(fixture.database)
        try log.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = \(Schema.texts.count)")
        let copy = Fixture()
        try FileManager.default.createDirectory(atPath: copy.folder, withIntermediateDirectories: false)
        for suffix in ["", "-wal"] { try Files.write(copy.database + suffix, Files.read(fixture.database + suffix)) }
        log.close()
        try await copy.open().add(newTask())
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
