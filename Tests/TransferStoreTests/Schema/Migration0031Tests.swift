import Testing
import TransferModel

@testable import TransferStore

/// A listing by turn reads the new index, in a state folder of before as in a new one.
@Suite struct Migration0031Tests {
    @Test func anOlderStoreGoesOn() async throws {
        let fixture = Fixture()
        let store = try fixture.open(after: "0029")
        let ids: [TaskID] = try await store.write { try $0.insert([newTask(), newTask(), newTask()]) }
        var query = TaskQuery(owner: alice)
        query.order = .queue
        let page = try await store.read { [query] in try $0.page(query) }
        #expect(page.tasks.map(\.record.id) == ids)
    }
}
