import Testing
import TransferCore
import TransferModel
import TransferRPC

@testable import DaemonKit

struct HSTSHandlersTests {
    private let bench: Bench

    init() async throws { bench = try await Bench() }

    private func learn(_ host: String, as peer: UserID = Bench.user.uid) throws {
        let session = SessionKey(owner: peer, identifier: "shared")
        let policy = EffectivePolicy(session: SessionConfiguration(), kind: .default)
        try #require(bench.keepers.hsts.hosts(of: session, policy)).receive("max-age=1000", from: host)
    }

    @Test func listsAndForgets() async throws {
        for host in ["b.org", "a.org", "x.a.org", "xn--bcher-kva.org"] { try learn(host) }
        let all = try await bench.call(Methods.listHSTS, .init())
        #expect(all.hosts.map(\.domain) == ["a.org", "b.org", "x.a.org", "xn--bcher-kva.org"])
        #expect(all.hosts.allSatisfy { $0.expires == $0.learned.advanced(by: 1000) && !$0.includesSubdomains })
        #expect(
            try await bench.call(Methods.listHSTS, .init(domain: "A.org")).hosts.map(\.domain) == ["a.org", "x.a.org"])
        #expect(try await bench.call(Methods.listHSTS, .init(domain: "bücher.org")).hosts.count == 1)
        #expect(try await bench.call(Methods.removeHSTS, .init(domain: "A.org")).removed == 2)
        #expect(try await bench.call(Methods.removeHSTS, .init()).removed == 2)
        #expect(try await bench.call(Methods.removeHSTS, .init()).removed == 0)
    }

    /// Nobody can name another user's hosts, not even an administrator.
    @Test func nobodySeesAnothers() async throws {
        try learn("a.org")
        for peer in [Bench.other, Bench.root] {
            #expect(try await bench.call(Methods.listHSTS, .init(), as: peer).hosts.isEmpty)
            #expect(try await bench.call(Methods.removeHSTS, .init(), as: peer).removed == 0)
        }
        #expect(try await bench.call(Methods.listHSTS, .init(session: "shared")).hosts.count == 1)
        do {
            _ = try await bench.call(Methods.listHSTS, .init(session: "nobody"))
            #expect(Bool(false), "there is no such session")
        } catch let error as TransferError {
            #expect(error.code == .sessionNotFound)
        }
    }
}
