import Foundation
import Testing
import TransferModel

@testable import TransferStore

/// Unreleased builds noted migrations in a table. The state folder of the last one goes on; older ones are refused.
@Suite struct ConversionTests {
    let fixture = Fixture()

    /// Makes the state folder that the last build with migrations left.
    /// - Parameter change: what else is done to its database.
    private func leave(_ change: String = "") throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let dump = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/migrations-0035.sql")
        let connection = try Connection(fixture.database)
        defer { connection.close() }
        try connection.execute(String(contentsOf: dump, encoding: .utf8) + change)
    }

    /// The tables and all that belongs to them, with blanks only where words need them.
    private func schema(_ store: TransferStore) throws -> [String] {
        try store.database.read { database in
            try database.texts("SELECT type || ' ' || name || ': ' || sql FROM sqlite_schema WHERE sql IS NOT NULL")
        }.map { text in
            text.replacing("\"", with: "").replacing(/\s+/, with: " ").replacing(/\ ?([(),]) ?/) { String($0.1) }
        }.sorted()
    }

    @Test func aConvertedDatabaseHasTheSchemaOfANewOne() async throws {
        try leave()
        let other = Fixture()
        let (converted, new) = (try fixture.open(), try other.open())
        #expect(try schema(converted) == schema(new))
        for store in [converted, new] {
            let facts = try store.database.read { database in
                try ["user_version", "application_id", "auto_vacuum"].map { try database.integer("PRAGMA \($0)") }
            }
            #expect(facts == [2, Schema.application, 2])
        }
    }

    @Test func everythingInItStays() async throws {
        try leave()
        for _ in 0..<2 {
            let store = try fixture.open()
            try store.database.read { database in
                #expect(try database.texts("PRAGMA integrity_check") == ["ok"])
                #expect(try database.texts("PRAGMA foreign_key_check") == [])
                try expectDerivedRowsAgree(database)
            }
            #expect(store.identifier == "bfc84c13-7b78-43e3-8349-2b2d5f0807d1")
            let owner = UserID(0)
            let (tasks, events, question, token) = try await store.read { snapshot in
                (
                    try snapshot.tasks((1...8).map { TaskID($0) }), try snapshot.events(EventQuery()),
                    try snapshot.openDecisions(owner: owner, limit: 9).first,
                    try snapshot.use(ofToken: "tok", owner: owner, notBefore: .init(milliseconds: 0))
                )
            }
            #expect(
                tasks.map(\.status.state) == [
                    .completed, .failed, .paused, .waiting, .waiting, .queued, .completed, .completed,
                ])
            #expect(tasks.filter { $0.session.identifier == "podcasts" }.map(\.id) == [TaskID(5)])
            #expect(tasks.first?.spec.tags == ["news", "t2"] && tasks.first?.result?.file == "/downloads/file.txt")
            #expect(tasks[5].checkpoint?.offset == 1_449_008)
            #expect(tasks[6].response?.body == ResponseBody(text: "hello, folder\n"))
            #expect(events.count == 46 && question?.task == TaskID(5) && token?.task == TaskID(1))
            let (cookies, credentials) = try await store.write { (try $0.cookies(), try $0.credentials()) }
            #expect(cookies.map(\.cookie.name) == ["sid"] && credentials.map(\.credential.password) == ["secret"])
            store.close()
        }
        #expect(try await fixture.open().add(newTask()) == TaskID(9))
    }

    @Test(arguments: [
        ("DELETE FROM grdb_migrations WHERE identifier = '0035'", "31 migrations up to 0034"),
        ("DELETE FROM grdb_migrations", "0 migrations up to 0000"),
        ("INSERT INTO grdb_migrations VALUES ('0036')", "33 migrations up to 0036"),
    ])
    func anotherMigrationIsRefusedAndLeftAsItIs(_ change: String, _ found: String) async throws {
        try leave(change)
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        for _ in 0..<2 {
            let error = await transferError { _ = try fixture.open() }
            #expect(error?.code == .unsupported && error?.details["schema"] == .string(found))
            #expect(error?.message.contains("converts only 32 migrations up to 0035") == true)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)) == before)
    }
}
