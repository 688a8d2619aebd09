import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0011Tests {
    let fixture = Fixture()

    @Test func whatWasShortComesBackHoweverItWasStored() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        var status = try #require(try await store.read { try $0.status(of: id) })
        #expect(status.shortBody == nil)
        status.shortBody = ShortBody(received: 5, announced: 10, times: 3)
        let first = status
        let isStored = try await store.write { try $0.update(id, from: .queued, to: first) }
        #expect(isStored)
        #expect(try await store.read { try $0.task(id) }?.status == status)
        #expect(try await store.read { try $0.status(of: id) } == status)
        #expect(try await store.read { try $0.heads([id]) }.first?.status == status)
        status.shortBody = ShortBody(received: 6, announced: 10)
        let change = StatusChange(id, from: .queued, to: status, resourceTimeoutAt: nil)
        try await store.write { try $0.update([change]) }
        #expect(try await store.read { try $0.task(id) }?.status == status)
        let error = await transferError { try await store.write { try $0.execute("UPDATE task SET short_body = 'x'") } }
        #expect(error?.code == .internal)
    }
}
