import Testing
import TransferModel

@testable import TransferStore

@Suite struct TrustTests {
    private let fixture = Fixture()

    private func server(_ host: String, _ key: String, port: Int = 443) -> TrustedServer {
        TrustedServer(host: host, port: port, keys: [key], trusted: epoch)
    }

    private func known(_ store: TransferStore, _ owner: UserID = alice) async throws -> [TrustedServer] {
        try await store.write { try $0.trustedServers() }.filter { $0.owner == owner }.map(\.server)
    }

    @Test func aUserTrustsFewKeysOfEachServer() async throws {
        var store = try fixture.open()
        try await store.write { transaction in
            try transaction.trust(server("b", "1"), owner: alice)
            try transaction.trust(server("a", "2", port: 8443), owner: alice)
            try transaction.trust(server("b", "3"), owner: alice)
            try transaction.trust(server("b", "4"), owner: bob)
        }
        store.close()
        store = try fixture.open()
        let both = try await known(store)
        #expect(both.map(\.keys) == [["2"], ["1", "3"]])
        #expect(both.map(\.key.origin) == ["https://a:8443", "https://b:443"])
        try await store.write { transaction in
            for key in ["1", "4", "5", "6", "7", "8", "9", "10"] {
                try transaction.trust(server("b", key), owner: alice)
            }
        }
        #expect(try await known(store)[1].keys == ["1", "4", "5", "6", "7", "8", "9", "10"])
        #expect(try await known(store, bob).map(\.keys) == [["4"]])
    }

    @Test func aUserForgetsAHostOrAll() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            for (host, port) in [("a", 443), ("a", 444), ("b", 443)] {
                try transaction.trust(server(host, "k", port: port), owner: alice)
            }
            try transaction.trust(server("a", "k"), owner: bob)
        }
        #expect(try await store.write { try $0.removeTrustedServers(host: "c", owner: alice) } == 0)
        #expect(try await store.write { try $0.removeTrustedServers(host: "a", owner: alice) } == 2)
        #expect(try await known(store).map(\.host) == ["b"])
        #expect(try await store.write { try $0.removeTrustedServers(host: nil, owner: alice) } == 1)
        #expect(try await known(store).isEmpty)
        #expect(try await known(store, bob).count == 1)
    }

    @Test func thereIsALimit() async throws {
        let store = try fixture.open()
        let refused = try await #require(throws: TransferError.self) {
            try await store.write { transaction in
                for number in 0...Bounds.trustedKeys {
                    try transaction.trust(server("h\(number)", "k"), owner: alice)
                }
            }
        }
        #expect(refused.code == .limitReached)
        #expect(try await known(store).isEmpty)
    }

    @Test func aSessionTrustsFewKeysOfEachServerUntilItEnds() async throws {
        var store = try fixture.open()
        let (key, other) = (SessionKey.shared(of: alice), SessionKey.shared(of: bob))
        for (origin, word) in [("https://a:443", "1"), ("https://b:443", "2"), ("https://a:443", "3")] {
            try await store.write { try $0.trust(TrustedKey(origin: origin, key: word), in: key, at: epoch) }
        }
        store.close()
        store = try fixture.open()
        let trusted = try await store.read { try $0.trustedKeys(key) }
        #expect(trusted.map(\.key) == ["1;3", "2"])
        try await store.write { transaction in
            for word in ["1", "4", "5", "6", "7", "8", "9", "10", "11"] {
                try transaction.trust(TrustedKey(origin: "https://a:443", key: word), in: key, at: epoch)
            }
        }
        let most = try await store.read { try $0.trustedKeys(key) }
        #expect(most.first?.key == "4;5;6;7;8;9;10;11" && Bounds.keysOfServer == 8)
        #expect(try await store.read { try $0.trustedKeys(other).isEmpty })
        try await store.write { try $0.forgetTrust(in: other) }
        #expect(try await store.read { try $0.trustedKeys(key).count } == 2)
        let refused = try await #require(throws: TransferError.self) {
            try await store.write {
                for number in 0..<Bounds.trustedKeys {
                    try $0.trust(TrustedKey(origin: "https://h\(number):443", key: "k"), in: key, at: epoch)
                }
            }
        }
        #expect(refused.code == .limitReached)
        try await store.write { try $0.forgetTrust(in: key) }
        #expect(try await store.read { try $0.trustedKeys(key).isEmpty })
    }
}
