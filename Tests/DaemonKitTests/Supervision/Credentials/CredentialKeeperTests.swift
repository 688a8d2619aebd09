import DaemonSetup
import Logging
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import DaemonKit
@testable import TransferStore

struct CredentialKeeperTests {
    static let anna = UserID(7)
    static let session = SessionKey(owner: anna, identifier: "s")
    static let demand = ProtectionSpace(
        host: "a.org", port: 443, protocol: "https", realm: "r", method: .httpBasic, isProxy: false)

    let folder: TemporaryFolder
    let store: TransferStore
    let keepers: Keepers
    var keeper: CredentialKeeper { keepers.credentials }

    init() async throws {
        folder = try TemporaryFolder()
        store = try TransferStore(folder: folder.path)
        keepers = Keepers(store: store, logger: Logger(label: "test"))
        try await store.write {
            try $0.insertSession(SessionRecord(key: Self.session, createdAt: Timestamp(milliseconds: 1)))
        }
    }

    func credential(
        _ user: String, host: String = "a.org", _ persistence: CredentialPersistence = .permanent
    ) -> StoredCredential {
        StoredCredential(
            space: CredentialSpace(host: host, port: 443, protocol: "https"), username: user, password: "p",
            persistence: persistence)
    }

    func user(
        _ kind: SessionKind = .background, isVolatile: Bool = false,
        _ change: (inout EffectivePolicy) -> Void = { _ in }
    ) -> (CredentialKeeper.User, EffectivePolicy) {
        var policy = EffectivePolicy(spec: TaskSpec(), session: SessionConfiguration(), kind: kind)
        change(&policy)
        return (CredentialKeeper.User(Self.session, isVolatile: isVolatile, policy), policy)
    }

    func found(_ user: CredentialKeeper.User) -> String? {
        keeper.found(for: Self.demand, in: user.places)?.username
    }

    private func reopened() async throws -> CredentialKeeper {
        let keeper = CredentialKeeper(store: store, logger: Logger(label: "test"))
        try await keeper.kept.load()
        return keeper
    }

    /// A task with a password of its own, which a server refused, goes on to the store, whatever user that has.
    @Test(
        arguments: [
            ("https://emil@a.org/", nil, nil, "emil"), ("https://emil:pw@a.org/", nil, nil, nil),
            ("https://a.org/", "emil", nil, "emil"), ("https://a.org/", "emil", "pw", nil),
            ("https://b.org/", "emil", nil, nil),
        ] as [(String, String?, String?, String?)])
    func theUserWithoutAPasswordIsTheOnlyOne(
        _ url: String, _ username: String?, _ password: String?, _ only: String?
    ) {
        var spec = TaskSpec()
        (spec.url, spec.username, spec.password) = (url, username, password)
        #expect(CredentialKeeper.username(in: spec, for: Self.demand) == only)
    }

    /// The table "Kinds of session": an ephemeral session has only its own credentials, the others use the owner's
    /// store too.
    @Test func eachKindHasItsStores() async throws {
        try await keeper.set(credential("shared"), isDefault: nil, in: .shared(Self.anna))
        try await keeper.set(credential("other"), isDefault: nil, in: .shared(UserID(8)))
        #expect(found(user().0) == "shared")
        #expect(found(user(.default, isVolatile: true).0) == "shared")
        #expect(found(user(.ephemeral, isVolatile: true).0) == nil)
        #expect(!keeper.mayAnswer(user(.ephemeral, isVolatile: true).0) && keeper.mayAnswer(user().0))
        try await keeper.set(credential("own", .session), isDefault: nil, in: .volatile(Self.session))
        #expect(found(user(.ephemeral, isVolatile: true).0) == "own")
        #expect(found(user(.default, isVolatile: true).0) == "own" && found(user().0) == "shared")
        // A durable session of the same name keeps its own, and vice versa.
        try await keeper.set(credential("durable", .session), isDefault: nil, in: .session(Self.session))
        keeper.kept.forget(.volatile(Self.session))
        #expect(found(user(.ephemeral, isVolatile: true).0) == nil && found(user().0) == "durable")
        try await keeper.set(credential("own", .session), isDefault: nil, in: .volatile(Self.session))
        keeper.kept.forget(.session(Self.session))
        #expect(found(user(.ephemeral, isVolatile: true).0) == "own" && found(user().0) == "shared")
    }

    @Test func whatLastsIsReadAgain() async throws {
        try await keeper.set(credential("permanent"), isDefault: nil, in: .shared(Self.anna))
        try await keeper.set(credential("daemon", host: "b.org", .session), isDefault: nil, in: .shared(Self.anna))
        try await keeper.set(credential("session", .session), isDefault: nil, in: .session(Self.session))
        try await keeper.set(credential("volatile", .session), isDefault: nil, in: .volatile(Self.session))
        #expect(keeper.list(.shared(Self.anna)).count == 2)
        let again = try await reopened()
        #expect(again.list(.shared(Self.anna)).map(\.username) == ["permanent"])
        #expect(again.list(.session(Self.session)).map(\.username) == ["session"])
        #expect(again.list(.volatile(Self.session)).isEmpty)
        try await store.write { transaction in
            var session = try #require(try transaction.session(Self.session))
            session.state = .invalidated
            try transaction.updateSession(session)
        }
        #expect(try await reopened().list(.session(Self.session)).isEmpty)
    }

    private func refuseChanges(_ isRefused: Bool) async throws {
        try await store.write {
            try $0.connection.enableTriggers(isRefused)
            try $0.execute(
                isRefused
                    ? "CREATE TRIGGER refusal BEFORE DELETE ON credential BEGIN SELECT RAISE(ABORT, 'refused'); END"
                    : "DROP TRIGGER refusal")
        }
    }

    /// Not even a removal that finds nothing in memory returns before the earlier one is stored.
    @Test func aRemovalThatTheStoreRefusedIsStoredByTheNext() async throws {
        let (place, space) = (OwnedPlace.shared(Self.anna), credential("u").space)
        try await keeper.set(credential("u"), isDefault: nil, in: place)
        try await refuseChanges(true)
        await #expect(throws: (any Error).self) { try await keeper.remove(at: space, username: nil, in: place) }
        await #expect(throws: (any Error).self) { try await keeper.remove(at: space, username: nil, in: place) }
        #expect(try await reopened().list(place).count == 1)
        // What is kept in memory only does not depend on it.
        try await keeper.set(credential("v", .session), isDefault: nil, in: .volatile(Self.session))
        try await refuseChanges(false)
        #expect(try await keeper.remove(at: space, username: nil, in: place) == 0)
        #expect(try await reopened().list(place).isEmpty)
    }

    @Test func whatWorkedIsKeptWhereItsPersistenceSays() async throws {
        func space(_ host: String, _ persistence: CredentialPersistence?) -> SettledDecisions.Space {
            var demand = Self.demand
            demand.host = host
            var space = SettledDecisions.Space(origin: demand.origin, isProxy: false)
            (space.username, space.password) = ("anna", "p")
            (space.demand, space.persistence) = (demand, persistence)
            return space
        }
        let spaces = [space("a.org", .session), space("b.org", .permanent), space("c.org", nil)]
        keeper.worked(spaces, for: user().0)
        #expect(keeper.list(.session(Self.session)).map(\.space.host) == ["a.org", "b.org"])
        #expect(keeper.list(.shared(Self.anna)).map(\.space.host) == ["b.org"])
        #expect(keeper.list(.shared(Self.anna)).map(\.space.realm) == ["r"])
        keeper.worked(spaces, for: user(.ephemeral, isVolatile: true).0)
        #expect(keeper.list(.volatile(Self.session)).map(\.space.host) == ["a.org", "b.org"])
        #expect(keeper.list(.shared(Self.anna)).count == 1)
        // It was handed to the store before this request.
        _ = try await store.write { try $0.credentials() }
        #expect(try await reopened().list(.shared(Self.anna)).map(\.space.host) == ["b.org"])
    }

    /// A task keeps using a client's answer after another client has removed it, but does not store it again. A later
    /// answer is stored, whatever space the removed one was stored for.
    @Test func whatWasRemovedDoesNotComeBackWithARunningTask() async throws {
        var space = SettledDecisions.Space(origin: Self.demand.origin, isProxy: false)
        (space.username, space.password) = ("anna", "p")
        (space.demand, space.persistence) = (Self.demand, .permanent)
        let user = user().0
        try await keeper.set(credential("anna"), isDefault: nil, in: .shared(Self.anna))
        keeper.worked([space], for: user)
        let site = CredentialSpace(host: "a.org", port: 443, protocol: "https")
        #expect(try await keeper.remove(at: site, username: nil, in: .shared(Self.anna)) == 2)
        keeper.worked([space], for: user)
        #expect(keeper.list(.shared(Self.anna)).isEmpty && keeper.list(.session(Self.session)).count == 1)
        // Another password is another credential.
        var other = space
        other.password = "q"
        keeper.worked([other], for: user)
        #expect(keeper.list(.shared(Self.anna)).map(\.password) == ["q"])
        #expect(try await keeper.remove(at: site, username: nil, in: .shared(Self.anna)) == 1)
        var later = space
        later.answeredAt = SystemTime().reading().boot
        keeper.worked([later], for: user)
        #expect(keeper.list(.shared(Self.anna)).map(\.password) == ["p"])
        // A replaced credential is not stored again either.
        other.answeredAt = later.answeredAt
        keeper.worked([other], for: user)
        keeper.worked([space], for: user)
        #expect(keeper.list(.shared(Self.anna)).map(\.password) == ["q"])
    }

    func record(_ sent: SettledDecisions?, _ url: String = "https://a.org/x") -> TaskRecord {
        var spec = TaskSpec()
        spec.url = url
        var record = TaskRecord(
            id: TaskID(1), session: Self.session, spec: spec,
            status: TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0)), host: "h", position: 0)
        record.settled = sent
        return record
    }

    var refusal: AttemptFailure { refused(with: "Basic realm=\"r\"") }

    func refused(with challenge: String) -> AttemptFailure {
        let head = ResponseHead(
            url: "https://a.org/x", status: 401, headers: [HeaderField("WWW-Authenticate", challenge)])
        return FailureClassifier.answered(head, now: Timestamp(milliseconds: 0))
    }

    @Test func aRefusedCredentialIsSentByNobodyAgain() async throws {
        try await keeper.set(credential("anna"), isDefault: nil, in: .shared(Self.anna))
        let (_, policy) = user { $0.mayHaveCredentials = true }
        let first = await keeper.offer(after: refusal, of: record(nil), policy)
        #expect(first?.found?.username == "anna")
        var settled = SettledDecisions()
        settled.use(try #require(first?.found), for: Self.demand)
        let claimed = keeper.lookingUp(record(settled), user().0)
        #expect(claimed.settled?.spaces.map(\.password) == ["p"])
        let second = await keeper.offer(after: refusal, of: claimed, policy)
        #expect(second != nil && second?.found == nil)
        // Another task that was about to send it does not.
        #expect(keeper.lookingUp(record(settled), user().0).settled?.spaces.map(\.password) == [nil])
        #expect(keeper.list(.shared(Self.anna)).map(\.isRefused) == [true] && !keeper.mayAnswer(user().0))
        _ = try await store.write { try $0.credentials() }
        #expect(try await reopened().list(.shared(Self.anna)).map(\.isRefused) == [true])
    }

    /// The server names another realm or method each time, but what it has refused is not sent again.
    @Test(arguments: ["Basic realm=\"other\"", "Digest realm=\"r\", nonce=\"n\""])
    func aRefusedCredentialIsNotSentUnderAnotherName(challenge: String) async throws {
        try await keeper.set(credential("anna"), isDefault: nil, in: .shared(Self.anna))
        let (_, policy) = user { $0.mayHaveCredentials = true }
        var settled = SettledDecisions()
        settled.use(FoundCredential(username: "anna", password: "p", source: .store), for: Self.demand)
        let claimed = keeper.lookingUp(record(settled), user().0)
        let offer = await keeper.offer(after: refused(with: challenge), of: claimed, policy)
        #expect(offer != nil && offer?.found == nil)
        #expect(keeper.list(.shared(Self.anna)).map(\.isRefused) == [true])
    }

    /// A session that ends with its last task leaves nothing in memory.
    @Test func aSessionThatEndsByItselfLeavesNone() async throws {
        try await keeper.set(credential("own", .session), isDefault: nil, in: .volatile(Self.session))
        let time = Timestamp(milliseconds: 1)
        try await keeper.set(credential("durable", .session), isDefault: nil, in: .session(Self.session))
        keepers.follow([EventRecord(time: time, type: .sessionDrained, session: Self.session)], isVolatile: true)
        #expect(keeper.list(.volatile(Self.session)).count == 1)
        keepers.follow([EventRecord(time: time, type: .sessionInvalidated, session: Self.session)], isVolatile: true)
        #expect(keeper.list(.volatile(Self.session)).isEmpty && keeper.list(.session(Self.session)).count == 1)
        keepers.follow([EventRecord(time: time, type: .sessionInvalidated, session: Self.session)], isVolatile: false)
        #expect(keeper.list(.session(Self.session)).isEmpty)
    }

    /// One owner's credentials are limited across all sessions, and cost another owner nothing.
    @Test func oneOwnersAreBounded() async throws {
        for (number, place) in (0..<Bounds.credentials).map({
            ($0, $0 % 2 == 0 ? OwnedPlace.volatile(Self.session) : .volatile(.shared(of: Self.anna)))
        }) {
            try await keeper.set(credential("u\(number)", .session), isDefault: nil, in: place)
        }
        do {
            try await keeper.set(credential("late"), isDefault: nil, in: .shared(Self.anna))
            #expect(Bool(false), "one too many was stored")
        } catch let error as TransferError {
            #expect(error.code == .limitReached)
        }
        try await keeper.set(credential("u0", .session), isDefault: nil, in: .volatile(Self.session))
        try await keeper.set(credential("other"), isDefault: nil, in: .shared(UserID(8)))
        #expect(try await keeper.remove(at: credential("").space, username: "u0", in: .volatile(Self.session)) == 1)
        try await keeper.set(credential("late"), isDefault: nil, in: .shared(Self.anna))
    }
}
