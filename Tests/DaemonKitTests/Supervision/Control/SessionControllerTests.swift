import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

struct SessionControllerTests {
    private let fixture: SupervisionFixture
    private let supervision: Supervision

    init() throws {
        fixture = try SupervisionFixture()
        supervision = try fixture.supervision(in: try ConfigurationFixture(), pool: BlockingPool(width: 0))
    }

    @Test func oneUserHasSoManySessions() async throws {
        let (owner, now) = (fixture.key.owner, fixture.time.reading().wall)
        let user = Peer(uid: owner, gid: 0, pid: 0, isAdmin: false)
        func key(_ name: String, of owner: UserID) -> SessionKey { SessionKey(owner: owner, identifier: name) }
        let keys = (0..<Bounds.sessions).map { key("s\($0)", of: owner) }
        try await fixture.store.write { transaction in
            for key in keys { try transaction.insertSession(SessionRecord(key: key, createdAt: now)) }
        }
        let refusal = await #expect(throws: TransferError.self) {
            try await supervision.services.sessions.open(
                key("one more", of: owner), kind: .background, configuration: nil, by: user)
        }
        #expect(refusal?.code == .limitReached)
        // Existing sessions can still be opened, other users have their own, and an ended session makes room.
        _ = try await supervision.services.sessions.open(keys[3], kind: .background, configuration: nil, by: user)
        _ = try await supervision.services.sessions.open(
            key("one more", of: UserID(2000)), kind: .background, configuration: nil, by: user)
        _ = try await supervision.services.sessions.finish(keys[3])
        _ = try await supervision.services.sessions.open(
            key("one more", of: owner), kind: .background, configuration: nil, by: user)
        let full = await #expect(throws: TransferError.self) {
            try await supervision.services.sessions.open(keys[3], kind: .background, configuration: nil, by: user)
        }
        #expect(full?.code == .limitReached, "to open what is over is to have one more")
    }

    /// A session that ended with its last task, or without any, begins without its old cookies when it is opened again.
    @Test func aSessionThatIsOpenedAgainHasNoneOfItsCookies() async throws {
        let key = SessionKey(owner: fixture.key.owner, identifier: "again")
        let user = Peer(uid: key.owner, gid: 0, pid: 0, isAdmin: false)
        let cookies = supervision.keepers.cookies
        _ = try await supervision.services.sessions.open(key, kind: .background, configuration: nil, by: user)
        try await cookies.set([Cookie(name: "k", value: "v", domain: "a.org")], in: .session(key))
        _ = try await supervision.services.sessions.open(key, kind: .background, configuration: nil, by: user)
        #expect(cookies.list(.session(key)).count == 1, "attaching takes nothing")
        _ = try await supervision.services.sessions.finish(key)
        _ = try await supervision.services.sessions.open(key, kind: .background, configuration: nil, by: user)
        #expect(cookies.list(.session(key)).isEmpty)
    }

    /// Another connection may set cookies as soon as the session is there.
    @Test func oldCookiesAreGoneBeforeTheSessionIsThere() async throws {
        let key = SessionKey(owner: fixture.key.owner, identifier: "again")
        let user = Peer(uid: key.owner, gid: 0, pid: 0, isAdmin: false)
        let cookies = supervision.keepers.cookies
        try await cookies.set([Cookie(name: "k", value: "v", domain: "a.org")], in: .session(key))
        let found = Guarded<Int?>(nil)
        fixture.store.onCommit { events in
            guard events.contains(where: { $0.type == .sessionOpened }) else { return }
            found.withLock { $0 = cookies.list(.session(key)).count }
        }
        _ = try await supervision.services.sessions.open(key, kind: .background, configuration: nil, by: user)
        #expect(found.withLock { $0 } == 0)
        #expect(try await fixture.store.write { try $0.cookies() }.isEmpty)
    }

    @Test func aSessionThatIsFinishedHasNoneOfItsCredentials() async throws {
        let key = SessionKey(owner: fixture.key.owner, identifier: "over")
        let user = Peer(uid: key.owner, gid: 0, pid: 0, isAdmin: false)
        let credentials = supervision.keepers.credentials
        _ = try await supervision.services.sessions.open(key, kind: .background, configuration: nil, by: user)
        try await credentials.set(credential, isDefault: nil, in: .session(key))
        let found = count(of: credentials, in: key, at: .sessionInvalidated)
        _ = try await supervision.services.sessions.finish(key)
        #expect(found.withLock { $0 } == 0)
        #expect(credentials.list(.session(key)).isEmpty)
    }

    /// It ended with its last task. Another connection may set credentials as soon as the session is there again.
    @Test func oldCredentialsAreGoneBeforeTheSessionIsThere() async throws {
        let (key, credentials) = (fixture.key, supervision.keepers.credentials)
        let user = Peer(uid: key.owner, gid: 0, pid: 0, isAdmin: false)
        let task = try await fixture.add(hosts: ["h"])[0].id
        try await credentials.set(credential, isDefault: nil, in: .session(key))
        _ = try await supervision.services.sessions.finish(key)
        for event in [.claimed, .completed(TaskResult(bytes: 1, verified: false), duration: 1)] as [TaskEvent] {
            _ = try await fixture.apply(event, to: task)
        }
        #expect(credentials.list(.session(key)).count == 1)
        let found = count(of: credentials, in: key, at: .sessionOpened)
        _ = try await supervision.services.sessions.open(key, kind: .background, configuration: nil, by: user)
        #expect(found.withLock { $0 } == 0)
    }

    private var credential: StoredCredential {
        StoredCredential(
            space: CredentialSpace(host: "a.org", port: 443, protocol: "https"), username: "anna", password: "p",
            persistence: .session)
    }

    /// How many credentials the session has when the event is committed.
    private func count(
        of credentials: CredentialKeeper, in key: SessionKey, at type: EventType
    ) -> Guarded<Int?> {
        let found = Guarded<Int?>(nil)
        fixture.store.onCommit { events in
            guard events.contains(where: { $0.type == type }) else { return }
            found.withLock { $0 = credentials.list(.session(key)).count }
        }
        return found
    }

    /// It ended with its last task while one client invalidated it, and another client opened it again.
    @Test func aSessionThatIsOpenedAgainIsNotEndedTwice() async throws {
        let (key, claims, cookies) = (fixture.key, supervision.runs.claims, supervision.keepers.cookies)
        let user = Peer(uid: key.owner, gid: 0, pid: 0, isAdmin: false)
        let old = try await fixture.add(hosts: ["h"])[0].id
        #expect(claims.enter([old]) == [old])
        let end = Task { try await supervision.services.sessions.invalidate(key) }
        #expect(await eventually { claims.enter([old]).isEmpty })
        for event in [.claimed, .completed(TaskResult(bytes: 1, verified: false), duration: 1)] as [TaskEvent] {
            _ = try await fixture.apply(event, to: old)
        }
        #expect(try await fixture.store.read { try $0.session(key) }?.state == .invalidated)
        _ = try await supervision.services.sessions.open(key, kind: .background, configuration: nil, by: user)
        let new = try await fixture.add(hosts: ["h"])[0].id
        try await cookies.set([Cookie(name: "k", value: "v", domain: "a.org")], in: .session(key))
        claims.leave([old])
        #expect(try await end.value.state == .active)
        #expect(try await fixture.store.read { try $0.task(new) }?.status.state == .queued)
        #expect(cookies.list(.session(key)).count == 1)
    }

    @Test func aSessionThatIsInvalidatedHasNoneOfItsCookies() async throws {
        let (key, cookies) = (fixture.key, supervision.keepers.cookies)
        _ = try await fixture.add(hosts: ["h"])
        try await cookies.set([Cookie(name: "k", value: "v", domain: "a.org")], in: .session(key))
        #expect(try await supervision.services.sessions.invalidate(key).state == .invalidated)
        #expect(cookies.list(.session(key)).isEmpty)
        #expect(try await fixture.store.write { try $0.cookies() }.isEmpty)
    }
}
