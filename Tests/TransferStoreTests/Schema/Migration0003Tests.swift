import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0003Tests {
    let fixture = Fixture()

    @Test func aRowThatContradictsItselfIsRefused() async throws {
        let store = try fixture.open()
        for row in [
            "1, 1, 's', '{}', '{}', -1, 0, 0", "1, 1, 's', '{}', NULL, 0, 0, 0", "'a', 1, 's', '{}', '{}', 0, 0, 0",
        ] {
            let error = await transferError {
                try await store.write {
                    try $0.execute(
                        """
                        INSERT INTO upload_ending (task, owner, session, spec, progress, failures, recorded_at, \
                        next_attempt_at) VALUES (\(row))
                        """)
                }
            }
            #expect(error?.code == .internal)
        }
    }

    @Test func aStoreOfTheSecondSchemaIsTaken() async throws {
        var store = try fixture.open()
        let id = try await store.add(newTask())
        try await store.write { transaction in
            try transaction.execute("DROP TABLE upload_ending")
            try transaction.execute("DELETE FROM grdb_migrations WHERE identifier = '0003'")
        }
        store.close()
        store = try fixture.open()
        #expect(try await store.read { try $0.task(id) } != nil)
        #expect(try await store.read { try $0.uploadEndings(limit: 1) }.isEmpty)
    }
}
