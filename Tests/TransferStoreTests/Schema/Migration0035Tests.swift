import Foundation
import Testing
import TransferModel

@testable import TransferStore

/// An older answer shows the body that is in its document.
@Suite struct Migration0035Tests {
    @Test func answersOfBeforeShowTheirBodies() async throws {
        let fixture = Fixture()
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let connection = try Connection(fixture.database, .writing)
        try Schema.migrate(connection, upTo: "0034")
        try connection.write {
            try $0.execute(
                """
                INSERT INTO meta VALUES ('store_id', 's'), ('created_at', '0');
                INSERT INTO session VALUES (1, 1000, 's', 'background', 'active', '{}', 0, NULL, 0);
                INSERT INTO lane (id, session, host) VALUES (1, 1, 'https://example.org:443');
                INSERT INTO task (id, session, lane, kind, priority, position, state, attempts, failures_in_row, \
                integrity_restarts, created_at, finished_at, budget_used, url, spec) VALUES \
                (7, 1, 1, 'data', 0, 7, 'completed', 1, 0, 0, 0, 1, 0, 'u', '{"kind":"data","url":"u"}');
                INSERT INTO response (task, document) VALUES \
                (7, '{"url":"u","status":200,"headers":[],"expectedLength":3,"body":{"text":"old"}}');
                INSERT INTO body (task, role, content) VALUES (7, 'response', CAST('old' AS BLOB));
                """)
        }
        connection.close()
        let store = try fixture.open()
        let old = TaskID(7)
        #expect(try await store.read { try $0.task(old) }?.response?.body == ResponseBody(text: "old"))
        let page = try await store.read { try $0.page(TaskQuery(owner: alice)) }
        #expect(page.tasks.first?.responseText?.components(separatedBy: "\"body\"").count == 2)
        #expect(try page.tasks.first?.whole().response?.body == ResponseBody(text: "old"))
    }
}
