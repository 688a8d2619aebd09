import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0012Tests {
    let fixture = Fixture()

    @Test(arguments: [
        "INSERT INTO left_part VALUES (-1, '/f', 'n', 1, NULL, NULL, 0)",
        "INSERT INTO left_part VALUES (1, '', 'n', 1, NULL, NULL, 0)",
        "INSERT INTO left_part VALUES (1, '/f', '', 1, NULL, NULL, 0)",
        "INSERT INTO left_part VALUES (1, '/f', 'n', 'one', NULL, NULL, 0)",
        "INSERT INTO left_part VALUES (1, '/f', 'n', 1, 'disk', NULL, 0)",
        "INSERT INTO left_part VALUES (1, '/f', 'n', 1, NULL, NULL, NULL)",
    ])
    func aBadRowIsRefused(_ sql: String) async throws {
        let store = try fixture.open()
        let error = await transferError { try await store.write { try $0.execute(sql) } }
        #expect(error?.code == .internal)
    }

    /// The events of an older database are found by task too.
    @Test func eventsOfAnOlderDatabaseAreIndexed() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.execute("DROP INDEX event_task")
            try transaction.execute("DROP TABLE left_part")
            try transaction.execute("DELETE FROM grdb_migrations WHERE identifier = '0012'")
            try transaction.append([event(.taskAdded, task: TaskID(1)), event(), event(.taskFailed, task: TaskID(1))])
        }
        store.close()
        let next = try fixture.open()
        var query = EventQuery()
        query.tasks = [TaskID(1)]
        let found = try await next.read { [query] in try $0.events(query) }
        #expect(found.compactMap { $0.sequence?.rawValue } == [1, 3])
    }
}
