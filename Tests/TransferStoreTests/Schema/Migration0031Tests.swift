import Foundation
import Testing
import TransferModel

@testable import TransferStore

/// A listing by turn reads the new index, in a state folder of before as in a new one.
@Suite struct Migration0031Tests {
    @Test func anOlderStoreGoesOn() async throws {
        let fixture = Fixture()
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let connection = try Connection(fixture.database, .writing)
        try Schema.migrate(connection, upTo: "0029")
        try connection.write {
            try $0.execute("INSERT INTO meta VALUES ('store_id', 's'), ('created_at', '0')")
        }
        connection.close()
        let store = try fixture.open()
        let ids: [TaskID] = try await store.write { try $0.insert([newTask(), newTask(), newTask()]) }
        var query = TaskQuery(owner: alice)
        query.order = .queue
        let page = try await store.read { [query] in try $0.page(query) }
        #expect(page.tasks.map(\.record.id) == ids)
    }
}
