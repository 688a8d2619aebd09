import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0021Tests {
    let fixture = Fixture()

    /// Creates a database as the previous version leaves it, with one task in each state.
    private func earlier() throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let queue = try Connection(fixture.database, .writing)
        try Schema.migrate(queue, upTo: "0020")
        try queue.write { database in
            try database.execute(
                """
                INSERT INTO meta VALUES ('store_id', 's'), ('created_at', '0');
                INSERT INTO session VALUES (1, 1000, 'shared', 'background', 'active', '{}', 0, NULL, 0);
                INSERT INTO lane (id, session, host) VALUES (1, 1, 'h');
                """)
            for state in TaskState.allCases {
                try database.execute(
                    """
                    INSERT INTO task (session, lane, kind, priority, position, state, reason, error, attempts, \
                    failures_in_row, integrity_restarts, created_at, finished_at, budget_used, url, spec) \
                    VALUES (1, 1, 'download', 0.5, 1, ?, ?, ?, 0, 0, 0, 0, ?, 0, 'u', '{"url":"u"}')
                    """, state.rawValue, state == .waiting ? "retry" : nil, state == .failed ? "{}" : nil,
                    state.isFinal ? 1 : nil)
            }
            try database.execute("UPDATE counter SET value = 7 WHERE name = 'task'")
        }
        queue.close()
    }

    @Test func runningTasksOfAnEarlierDatabaseAreFoundAndListed() async throws {
        try earlier()
        let store = try fixture.open()
        let damage = try store.database.read { try $0.texts("PRAGMA integrity_check") }
        #expect(damage == ["ok"])
        var query = TaskQuery(owner: alice)
        query.order = .queue
        let (running, page) = try await store.read { [query] in (try $0.runningIDs(), try $0.page(query)) }
        let place = try #require(TaskState.allCases.firstIndex(of: .running))
        #expect(running == [TaskID(Int64(place + 1))])
        #expect(page.tasks.contains { $0.record.status.state == .running })
    }
}
