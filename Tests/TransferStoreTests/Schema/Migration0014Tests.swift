import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0014Tests {
    let fixture = Fixture()

    /// Creates a database as the previous version leaves it, with one task for each of these specs, from id 1.
    private func earlier(_ specs: [String], tokens: [(String, Int)]) throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let queue = try Connection(fixture.database, .writing)
        try Schema.migrate(queue, upTo: "0013")
        try queue.write { database in
            try database.execute("INSERT INTO meta VALUES ('store_id', 's'), ('created_at', '0')")
            try database.execute("INSERT INTO session VALUES (1, 1000, 'shared', 'background', 'active', '{}', 0)")
            try database.execute("INSERT INTO lane (id, session, host) VALUES (1, 1, 'h')")
            for spec in specs {
                try database.execute(
                    """
                    INSERT INTO task (session, lane, kind, priority, position, state, attempts, failures_in_row, \
                    integrity_restarts, created_at, budget_used, url, spec) \
                    VALUES (1, 1, 'download', 0.5, 1, 'paused', 0, 0, 0, ?, 0, 'u', ?)
                    """, epoch.rawValue, spec)
            }
            for (token, task) in tokens {
                try database.execute("INSERT INTO client_token VALUES (1000, ?, ?, ?)", token, task, epoch.rawValue)
            }
        }
        queue.close()
    }

    @Test func tokensAndTagsOfEarlierTasksAreKnown() async throws {
        try earlier(
            [
                #"{"url":"u","clientToken":"new","tags":["a","b"]}"#, #"{"url":"u","clientToken":"old"}"#,
                #"{"url":"u","tags":["a"]}"#, #"{"url":"u","description":"\"tags\" and \"clientToken\""}"#,
            ], tokens: [("new", 1)])
        let store = try fixture.open()
        let (new, byTag, byToken) = try await store.read { snapshot in
            var (tag, token) = (TaskQuery(), TaskQuery())
            tag.tags = ["a"]
            token.clientTokens = ["new", "old"]
            return (
                try snapshot.use(ofToken: "new", owner: alice, notBefore: epoch),
                try snapshot.page(tag).tasks.map(\.record.id), try snapshot.page(token).tasks.map(\.record.id)
            )
        }
        #expect(new == ClientTokenUse(task: TaskID(1), digest: nil, state: .paused, isRemoved: false))
        #expect(byTag == [TaskID(1), TaskID(3)])
        #expect(byToken == [TaskID(1), TaskID(2)])
        #expect(try await store.read { try $0.pausedSessions() } == [])
    }

    /// A spec that is no JSON does not prevent the migration.
    @Test func aDamagedSpecIsPassedOver() async throws {
        try earlier([#"{"clientToken":"x","tags":["a"#, #"{"clientToken":7,"tags":{"a":1}}"#], tokens: [])
        let store = try fixture.open()
        let counts = try await store.read {
            (try $0.integer("SELECT count(*) FROM client_token"), try $0.integer("SELECT count(*) FROM task_tag"))
        }
        #expect(counts == (0, 0))
    }
}
