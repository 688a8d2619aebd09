import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0007Tests {
    let fixture = Fixture()

    @Test func noLaneOfAnOlderDatabaseIsHeld() async throws {
        let store = try fixture.open()
        try await store.add(newTask(host: "a"))
        #expect(try await store.read { try $0.integer("SELECT sum(held) FROM lane") } == 0)
        let error = await transferError { try await store.write { try $0.execute("UPDATE lane SET held = 2") } }
        #expect(error?.code == .internal)
    }
}
