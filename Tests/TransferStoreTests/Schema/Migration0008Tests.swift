import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0008Tests {
    let fixture = Fixture()

    /// A database as the schema before this one leaves it.
    @Test func anOlderQueueIsServedInItsOrder() async throws {
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            try [0.1, 0.9, 0.5].map { try transaction.insert(newTask(host: "a", priority: $0)).id }
        }
        store.close()
        let queue = try Connection(fixture.database, .writing)
        try queue.write { database in
            try database.execute(
                """
                DROP INDEX lane_open;
                CREATE INDEX lane_head ON lane (head_priority DESC, head_position) WHERE queued > 0 AND held = 0;
                CREATE INDEX task_again ON task (lane, priority DESC, position, id)
                    WHERE state = 'queued' AND failures_in_row > 0;
                CREATE TRIGGER task_again_queued AFTER UPDATE OF state ON task BEGIN SELECT 1; END;
                CREATE TRIGGER task_again_moved AFTER UPDATE OF lane ON task BEGIN SELECT 1; END;
                UPDATE lane SET held = 1;
                DELETE FROM grdb_migrations WHERE identifier = '0008';
                """)
        }
        queue.close()
        let again = try fixture.open()
        let found = try await again.read { try $0.candidates(CandidateQuery()).tasks.map(\.id) }
        #expect(found == [ids[1], ids[2], ids[0]])
    }
}
