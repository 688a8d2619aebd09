import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0015Tests {
    let fixture = Fixture()

    @Test func tasksOfAnOlderDatabaseAreFoundByTheirURL() async throws {
        let store = try fixture.open()
        let id = try await store.write { transaction in
            let id = try transaction.insert(newTask(url: "https://h/a")).id
            try transaction.execute("DROP INDEX task_url")
            try transaction.execute("ALTER TABLE task DROP COLUMN sought")
            try transaction.execute("DELETE FROM grdb_migrations WHERE identifier = '0015'")
            return id
        }
        store.close()
        let next = try fixture.open()
        #expect(try await next.read { try $0.queued(urls: ["https://h/a"], in: .shared(of: alice)) } == [0: id])
    }
}
