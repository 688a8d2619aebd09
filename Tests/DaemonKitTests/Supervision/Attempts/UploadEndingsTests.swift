import CurlEngine
import DaemonSetup
import Logging
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

/// Servers are told which uploads are not wanted any more.
struct UploadEndingsTests {
    private static let login = "Basic " + Base64Text.encode(Array("anna:p".utf8))
    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture
    private let engine: CurlEngine
    private let origin: MisbehavingOrigin
    private let credentials: CredentialKeeper

    init() throws {
        fixture = try SupervisionFixture()
        home = try ConfigurationFixture()
        engine = try SupervisionFixture.engine(in: home)
        origin = try MisbehavingOrigin()
        credentials = CredentialKeeper(store: fixture.store, logger: Logger(label: "test"))
    }

    private func endings(_ ended: Guarded<Int> = Guarded(0)) -> UploadEndings {
        let pool = BlockingPool()
        return UploadEndings(
            patience: StorePatience(store: fixture.store) { false }, engine: engine,
            files: TransferFiles(
                access: FileAccess(mode: .user), storeID: "s", stateFolder: nil, pool: pool, time: fixture.time),
            credentials: credentials, hsts: HSTSKeeper(store: fixture.store, time: fixture.time),
            trust: TrustKeeper(store: fixture.store),
            policy: { spec, session, kind in
                var policy = EffectivePolicy(spec: spec, session: session, kind: kind)
                policy.network.proxy = ""
                return policy
            }, time: fixture.time, logger: Logger(label: "test")
        ) { ended.withLock { $0 += 1 } }
    }

    /// Records an upload at `/up` that must be ended.
    private func note(_ configuration: SessionConfiguration = SessionConfiguration()) async throws {
        var task = try await fixture.add(hosts: ["a"], configuration: configuration)[0]
        task.spec.kind = .upload
        task.spec.url = origin.url("/files")
        task.upload = UploadProgress(
            uploadProtocol: .tus, resourceURL: origin.url("/up"),
            source: SourceIdentity(device: 1, inode: 2, size: 3, modified: 4), createdAt: fixture.time.reading().wall)
        try await fixture.store.write { [task, now = fixture.time.reading().wall] in try $0.endUpload(of: task, at: now)
        }
    }

    private var pending: [UploadEnding] {
        get async throws { try await fixture.store.read { try $0.uploadEndings(limit: 10) } }
    }

    /// Begins what is due and waits for its end.
    private func run() async throws {
        let ended = Guarded(0)
        #expect(try await endings(ended).begin() == nil)
        #expect(await eventually { ended.withLock { $0 } == 1 })
    }

    private func store(in place: OwnedPlace) async throws {
        let space = CredentialSpace(host: "127.0.0.1", port: Int(origin.port), protocol: "http")
        try await credentials.set(
            StoredCredential(space: space, username: "anna", password: "p", persistence: .session), isDefault: nil,
            in: place)
    }

    private func demand() { origin.serve("/up", .basic(String(Self.login.dropFirst(6)), then: .status(204))) }

    @Test(.timeLimit(.minutes(1))) func theServerIsToldOnce() async throws {
        origin.serve("/up", .status(204))
        try await note()
        try await run()
        #expect(origin.requests().map(\.request.method) == ["DELETE"])
        #expect(try await pending.isEmpty)
        #expect(try await endings().begin() == nil && origin.requests().count == 1)
    }

    /// Credentials of the session, and of its owner.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func theStoreAnswersAServerThatAsks(isOfSession: Bool) async throws {
        demand()
        try await note()
        try await store(in: isOfSession ? .session(fixture.key) : .shared(fixture.key.owner))
        try await run()
        #expect(origin.requests().map { $0.request.header("Authorization") } == [nil, Self.login])
        #expect(try await pending.isEmpty)
    }

    /// The client would have been asked about the owner's credentials, and no client is asked any more.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func whatAClientWouldBeAskedAboutIsNotSent(isOfSession: Bool) async throws {
        demand()
        var configuration = SessionConfiguration()
        configuration.asks = [.challenge]
        try await note(configuration)
        try await store(in: isOfSession ? .session(fixture.key) : .shared(fixture.key.owner))
        try await run()
        let sent = origin.requests().map { $0.request.header("Authorization") }
        #expect(sent == (isOfSession ? [nil, Self.login] : [nil]))
    }

    /// Each time later, for a day.
    @Test(.timeLimit(.minutes(1))) func aServerInTroubleIsToldLater() async throws {
        origin.serve("/up", .status(503))
        try await note()
        try await run()
        let first = try #require(try await pending.first)
        #expect(first.failures == 1 && first.nextAttemptAt > fixture.time.reading().wall)
        #expect(try await endings().begin() == first.nextAttemptAt)
        #expect(origin.requests().count == 1)
        fixture.time.advance(UploadEndings.longestTry)
        try await run()
        #expect(try await pending.isEmpty && origin.requests().count == 2)
    }

    /// The next daemon continues with it.
    @Test(.timeLimit(.minutes(1))) func whatIsStoppedStaysNoted() async throws {
        origin.serve("/up", .silent)
        try await note()
        let ended = Guarded(0)
        let endings = endings(ended)
        _ = try await endings.begin()
        #expect(await eventually { !origin.requests().isEmpty })
        endings.stop()
        #expect(await eventually { ended.withLock { $0 } == 1 })
        #expect(try await pending.map(\.failures) == [0])
        #expect(try await endings.begin() == nil && origin.requests().count == 1)
    }
}
