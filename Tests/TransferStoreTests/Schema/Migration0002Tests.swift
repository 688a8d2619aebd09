import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0002Tests {
    let fixture = Fixture()

    @Test(arguments: [
        "INSERT INTO upload VALUES (99, '{}')",
        "INSERT INTO source VALUES (99, 1, 1, 1, 1)",
        "INSERT INTO source VALUES (1, 1, 1, -1, 1)",
        "INSERT INTO source VALUES (1, 1, 1, 'long', 1)",
        "INSERT INTO body (task, role, content) VALUES (99, 'request', x'00')",
        "INSERT INTO body (task, role, content) VALUES (1, 'trailer', x'00')",
        "INSERT INTO body (task, role, content) VALUES (1, 'request', 'text')",
    ])
    func aBadRowIsRefused(_ sql: String) async throws {
        let store = try fixture.open()
        #expect(try await store.add(newTask()) == TaskID(1))
        let error = await transferError { try await store.write { try $0.execute(sql) } }
        #expect(error?.code == .internal)
    }

    @Test func aStoreOfTheFirstSchemaIsTaken() async throws {
        var store = try fixture.open()
        let id = try await store.add(newTask())
        try await store.write { transaction in
            for table in ["upload", "source", "body"] { try transaction.execute("DROP TABLE \(table)") }
            // The later migration of one of these tables.
            try transaction.execute("DELETE FROM grdb_migrations WHERE identifier IN ('0002', '0035')")
        }
        store.close()
        store = try fixture.open()
        try await store.write { try $0.setBody(id, .request, [1]) }
        #expect(try await store.read { try $0.task(id) }?.upload == nil)
    }
}
