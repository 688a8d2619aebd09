import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0019Tests {
    let fixture = Fixture()

    /// Creates a database as the previous version leaves it, with one task in each state.
    private func earlier() throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let queue = try Connection(fixture.database, .writing)
        try Schema.migrate(queue, upTo: "0018")
        try queue.write { database in
            try database.execute(
                """
                INSERT INTO meta VALUES ('store_id', 's'), ('created_at', '0');
                INSERT INTO session VALUES (1, 1000, 'shared', 'background', 'active', '{}', 0, NULL, 0);
                INSERT INTO session VALUES (2, 1000, 'empty', 'background', 'active', '{}', 0, NULL, 0);
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
            try database.execute("INSERT INTO event VALUES (1, 0, 'task.failed', 1000, 'shared', 1, NULL)")
            try database.execute("UPDATE counter SET value = 7 WHERE name = 'task'")
            try database.execute("UPDATE counter SET value = 1 WHERE name = 'event'")
        }
        queue.close()
    }

    @Test func anEarlierDatabaseIsWholeAndCountsOn() async throws {
        try earlier()
        let store = try fixture.open()
        let damage = try store.database.read { try $0.texts("PRAGMA integrity_check") }
        #expect(damage == ["ok"])
        #expect(try await store.read { try $0.counts().values.allSatisfy { $0 == 1 } })
        let shared = SessionKey.shared(of: alice)
        #expect(try await store.read { try $0.unacknowledgedFinalEvents(shared, subscriber: "s") } == 1)
        try await store.write { transaction in
            for session in ["shared", "empty", "new"] {
                if session == "new" {
                    try transaction.insertSession(
                        SessionRecord(key: SessionKey(owner: alice, identifier: session), createdAt: epoch))
                }
                let id = try transaction.insert(newTask(session: session)).id
                #expect(try transaction.update(id, from: .queued, to: status(.running)))
            }
        }
        let counts = try await store.read { try $0.counts() }
        #expect(counts[.running] == 4 && counts[.queued] == 1)
    }

    /// This holds for a migrated database, and for the schema that SQLite has in memory.
    @Test func wordsThatAreNoneAreStillRefused() async throws {
        try earlier()
        let refused = [
            "UPDATE task SET kind = 'x'", "UPDATE task SET state = 'x' WHERE state = 'queued'",
            "UPDATE task SET reason = 'x' WHERE state = 'waiting'",
            "UPDATE task SET finished_at = NULL WHERE state = 'completed'",
            "UPDATE task SET finished_at = NULL WHERE state = 'failed'",
            "UPDATE task SET finished_at = NULL WHERE state = 'cancelled'",
            "UPDATE task SET finished_at = 1 WHERE state = 'queued'",
            "UPDATE task SET budget_mark = 1 WHERE state = 'paused'",
            "UPDATE task SET budget_mark = 1 WHERE state = 'completed'",
        ]
        let taken =
            [
                "UPDATE task SET kind = 'upload'", "UPDATE task SET kind = 'data'", "UPDATE task SET kind = 'download'",
                "UPDATE task SET budget_mark = 1 WHERE state IN ('queued', 'running', 'waiting')",
            ]
            + WaitReason.allCases.map { "UPDATE task SET reason = '\($0.rawValue)' WHERE state = 'waiting'" }
        for _ in 0..<2 {
            let store = try fixture.open()
            for sql in refused {
                await #expect(throws: TransferError.self, "\(sql)") { try await store.write { try $0.execute(sql) } }
            }
            for sql in taken { try await store.write { try $0.execute(sql) } }
            store.close()
        }
    }

    /// With a list of words SQLite would build a table of them for each row.
    @Test func noRuleOfATaskHasAList() async throws {
        let store = try fixture.open()
        let lists = try store.database.read { database in
            try database.texts(
                "SELECT name FROM sqlite_schema WHERE name IN ('task', 'event_final') AND sql LIKE '% IN (''%'")
        }
        #expect(lists == [])
    }
}
