import Testing
import TransferModel

@testable import TransferStore

/// An older state folder trusts no server for good, and takes the first one.
@Suite struct Migration0034Tests {
    @Test func anOlderStoreGoesOn() async throws {
        let fixture = Fixture()
        let store = try fixture.open(after: "0032")
        #expect(try await store.write { try $0.trustedServers() }.isEmpty)
        let server = TrustedServer(host: "a.org", port: 443, keys: ["sha256//1"], trusted: epoch)
        try await store.write { try $0.trust(server, owner: alice) }
        #expect(try await store.write { try $0.trustedServers() }.map(\.server) == [server])
    }
}
