import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

struct TrustKeeperTests {
    private static let (anna, bert) = (UserID(7), UserID(8))
    private static let server = TrustedServer(
        host: "a.org", port: 8443, keys: ["sha256//1"], trusted: Timestamp(milliseconds: 5))

    private let folder: TemporaryFolder
    private let store: TransferStore
    private let keeper: TrustKeeper

    init() async throws {
        folder = try TemporaryFolder()
        store = try TransferStore(folder: folder.path)
        keeper = TrustKeeper(store: store)
        try await keeper.trust(Self.server, of: Self.anna)
    }

    private func keys(
        _ keeper: TrustKeeper, of owner: UserID = anna, _ kind: SessionKind = .background, asks: Bool = true
    ) -> [TrustedKey] {
        var configuration = SessionConfiguration()
        configuration.asks = asks ? [.challenge] : [.redirect]
        let policy = EffectivePolicy(session: configuration, kind: kind)
        return keeper.keys(for: SessionKey(owner: owner, identifier: "s"), policy)
    }

    @Test func tasksThatWouldAskTrustTheKey() {
        let trusted = TrustedKey(origin: "https://a.org:8443", key: "sha256//1")
        for kind in [SessionKind.background, .default] { #expect(keys(keeper, kind) == [trusted]) }
        #expect(keys(keeper, asks: false).isEmpty)
        #expect(keys(keeper, .ephemeral).isEmpty)
        #expect(keys(keeper, of: Self.bert).isEmpty)
    }

    @Test func anotherDaemonKnowsIt() async throws {
        let next = TrustKeeper(store: store)
        #expect(next.list(Self.anna).isEmpty)
        try await next.load()
        #expect(next.list(Self.anna) == [Self.server] && next.list(Self.bert).isEmpty)
        #expect(try await next.remove(host: "b.org", of: Self.anna) == 0)
        #expect(try await next.remove(host: nil, of: Self.bert) == 0)
        #expect(try await next.remove(host: "a.org", of: Self.anna) == 1)
        #expect(next.list(Self.anna).isEmpty && keys(next).isEmpty)
        try await keeper.load()
        #expect(keeper.list(Self.anna).isEmpty)
    }

    /// What its questions have settled for a task stays beside the keys.
    @Test func aClaimedTaskGetsTheKeys() throws {
        var configuration = SessionConfiguration()
        configuration.asks = [.challenge]
        let policy = EffectivePolicy(session: configuration, kind: .background)
        let key = SessionKey(owner: Self.anna, identifier: "s")
        var record = TaskRecord(
            id: TaskID(1), session: key, spec: TaskSpec(),
            status: TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0)), host: "h", position: 0)
        record.settled = SettledDecisions().adding([TrustedKey(origin: "https://b:443", key: "sha256//2")])
        let settled = try #require(keeper.adding(to: record, policy).settled)
        #expect(settled.spaces.map(\.key) == ["sha256//2", "sha256//1"])
        #expect(keeper.adding(to: record, EffectivePolicy(session: SessionConfiguration())).settled == record.settled)
    }
}
