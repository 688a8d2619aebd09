import Testing
import TransferModel

@testable import TransferStore

@Suite struct HSTSTests {
    private func host(_ domain: String, expires: Int64) -> HSTSHost {
        HSTSHost(
            domain: domain, includesSubdomains: domain.hasPrefix("a"), learned: Timestamp(milliseconds: 1),
            expires: Timestamp(milliseconds: expires))
    }

    @Test func hostsOfEachOwnerAreKeptUntilTheyExpire() async throws {
        let fixture = Fixture()
        let store = try fixture.open()
        let (anna, bert) = (UserID(7), UserID(4_294_967_295))
        #expect(try await store.write { try $0.hstsHosts() }.isEmpty)
        try await store.write { transaction in
            try transaction.put(host("a.org", expires: 10), owner: anna)
            try transaction.put(host("b.org", expires: 20), owner: anna)
            try transaction.put(host("b.org", expires: 30), owner: bert)
            try transaction.put(host("b.org", expires: 40), owner: anna)
        }
        try await store.write { try $0.removeHSTSHosts(expiredAt: Timestamp(milliseconds: 10)) }
        let left = try await store.write { try $0.hstsHosts() }
        #expect(
            Dictionary(uniqueKeysWithValues: left.map { ($0.owner, $0.host) }) == [
                anna: host("b.org", expires: 40), bert: host("b.org", expires: 30),
            ])
        try await store.write { try $0.removeHSTSHost("b.org", owner: anna) }
        #expect(try await store.write { try $0.hstsHosts() }.map(\.owner) == [bert])
    }
}
