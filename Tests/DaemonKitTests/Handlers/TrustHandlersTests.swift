import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

struct TrustHandlersTests {
    private let bench: Bench

    init() async throws { bench = try await Bench() }

    private func trust(_ hosts: String...) async throws {
        for host in hosts {
            let server = TrustedServer(host: host, port: 443, keys: ["k"], trusted: Timestamp(milliseconds: 1))
            try await bench.keepers.trust.trust(server, of: Bench.user.uid)
        }
    }

    private func hosts(_ host: String? = nil, as peer: Peer = Bench.user) async throws -> [String] {
        try await bench.call(Methods.listTrust, .init(host: host), as: peer).servers.map(\.host)
    }

    private func removed(_ host: String? = nil, as peer: Peer = Bench.user) async throws -> Int {
        try await bench.call(Methods.removeTrust, .init(host: host), as: peer).removed
    }

    @Test func listsAndForgets() async throws {
        try await trust("b.org", "a.org", "::1", "xn--bcher-kva.org")
        #expect(try await hosts() == ["::1", "a.org", "b.org", "xn--bcher-kva.org"])
        #expect(try await hosts("A.org") == ["a.org"])
        #expect(try await hosts("bücher.org") == ["xn--bcher-kva.org"])
        #expect(try await removed("::1") == 1)
        #expect(try await removed("[::1]") == 0)
        #expect(try await removed("c.org") == 0)
        #expect(try await removed() == 3)
        #expect(try await hosts().isEmpty)
    }

    /// Nobody can name another user's servers, not even an administrator.
    @Test func nobodySeesAnothers() async throws {
        try await trust("a.org")
        for peer in [Bench.other, Bench.root] {
            #expect(try await hosts(as: peer).isEmpty)
            #expect(try await removed(as: peer) == 0)
        }
        #expect(try await hosts() == ["a.org"])
    }

    @Test(arguments: ["", "https://a.org", "a.org:443", "a.org/", "u@a.org", "a b"])
    func onlyHostsAreAccepted(_ host: String) async throws {
        let refused = try await #require(throws: TransferError.self) { try await removed(host) }
        #expect(refused.code == .badField && refused.details["field"] == "host")
    }
}
