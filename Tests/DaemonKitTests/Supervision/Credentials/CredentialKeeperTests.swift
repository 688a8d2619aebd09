import DaemonSetup
import Logging
import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

struct CredentialKeeperTests {
    private static let anna = UserID(7)
    private static let session = SessionKey(owner: anna, identifier: "s")
    private static let demand = ProtectionSpace(
        host: "a.org", port: 443, protocol: "https", realm: "r", method: .httpBasic, isProxy: false)

    private let folder: TemporaryFolder
    private let store: TransferStore
    private let keeper: CredentialKeeper

    init() async throws {
        folder = try TemporaryFolder()
        store = try TransferStore(folder: folder.path)
        keeper = CredentialKeeper(store: store, logger: Logger(label: "test"))
        try await store.write {
            try $0.insertSession(SessionRecord(key: Self.session, createdAt: Timestamp(milliseconds: 1)))
        }
    }

    private func credential(
        _ user: String, host: String = "a.org", _ persistence: CredentialPersistence = .permanent
    ) -> StoredCredential {
        StoredCredential(
            space: CredentialSpace(host: host, port: 443, protocol: "https"), username: user, password: "p",
            persistence: persistence)
    }

    private func user(
        _ kind: SessionKind = .background, isVolatile: Bool = false,
        _ change: (inout EffectivePolicy) -> Void = { _ in }
    ) -> (CredentialKeeper.User, EffectivePolicy) {
        var policy = EffectivePolicy(spec: TaskSpec(), session: SessionConfiguration(), kind: kind)
        change(&policy)
        return (CredentialKeeper.User(Self.session, isVolatile: isVolatile, policy), policy)
    }

    private func found(_ user: CredentialKeeper.User) -> String? {
        keeper.found(for: Self.demand, in: user.places)?.username
    }

    private func reopened() async throws -> CredentialKeeper {
        let keeper = CredentialKeeper(store: store, logger: Logger(label: "test"))
        try await keeper.load()
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
        keeper.forget(.volatile(Self.session))
        #expect(found(user(.ephemeral, isVolatile: true).0) == nil && found(user().0) == "durable")
        try await keeper.set(credential("own", .session), isDefault: nil, in: .volatile(Self.session))
        keeper.forget(.session(Self.session))
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

    private func record(_ sent: SettledDecisions?, _ url: String = "https://a.org/x") -> TaskRecord {
        var spec = TaskSpec()
        spec.url = url
        var record = TaskRecord(
            id: TaskID(1), session: Self.session, spec: spec,
            status: TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0)), host: "h", position: 0)
        record.settled = sent
        return record
    }

    private var refusal: AttemptFailure { refused(with: "Basic realm=\"r\"") }

    private func refused(with challenge: String) -> AttemptFailure {
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
        keeper.follow([EventRecord(time: time, type: .sessionDrained, session: Self.session)], isVolatile: true)
        #expect(keeper.list(.volatile(Self.session)).count == 1)
        keeper.follow([EventRecord(time: time, type: .sessionInvalidated, session: Self.session)], isVolatile: true)
        #expect(keeper.list(.volatile(Self.session)).isEmpty && keeper.list(.session(Self.session)).count == 1)
        keeper.follow([EventRecord(time: time, type: .sessionInvalidated, session: Self.session)], isVolatile: false)
        #expect(keeper.list(.session(Self.session)).isEmpty)
    }

    private func helped(
        _ answer: String, time: any TimeSource = SystemTime()
    ) async throws -> (CredentialKeeper, EffectivePolicy) {
        try Files.write(folder.file("helper"), "#!/bin/sh\n" + answer, mode: 0o700)
        let (program, logger) = (folder.file("helper"), Logger(label: "test"))
        let helper = CredentialHelper(environment: [:], logger: logger) { program }
        return (
            CredentialKeeper(store: store, helper: helper, logger: logger, time: time),
            user { $0.mayHaveCredentials = true }.1
        )
    }

    /// What a helper gave and a server refused is not sent by other tasks either, until the stored credentials there
    /// are changed.
    @Test func aRefusedGiftIsNotSentAgain() async throws {
        let (keeper, policy) = try await helped("[ $1 = get ] && echo username=anna && echo password=p")
        let first = try #require(await keeper.offer(after: refusal, of: record(nil), policy))
        #expect(first.found?.source == .helper && first.helper == nil)
        var settled = SettledDecisions()
        settled.use(try #require(first.found), for: Self.demand)
        let second = try #require(await keeper.offer(after: refusal, of: record(settled), policy))
        #expect(second.found == nil && second.helper == .refused)
        let other = try #require(await keeper.offer(after: refusal, of: record(nil), policy))
        #expect(other.found == nil && other.helper == .refused)
        // For another realm, it may be right.
        let elsewhere = await keeper.offer(after: refused(with: "Basic realm=\"other\""), of: record(nil), policy)
        #expect(elsewhere?.found?.username == "anna")
        #expect(try await keeper.remove(at: credential("").space, username: nil, in: .shared(Self.anna)) == 0)
        #expect(await keeper.offer(after: refusal, of: record(nil), policy)?.found?.username == "anna")
    }

    /// A password that a helper gave is used until it expires. It is stored with its end, unless that has passed.
    @Test func aGiftIsUsedUntilItExpires() async throws {
        let time = ManualTime()
        let end = time.reading().wall.rawValue / 1000 + 60
        let (keeper, policy) = try await helped(
            """
            case $1 in
            get) echo username=anna; echo password=p; echo password_expiry_utc=\(end) ;;
            store) cat > \(folder.file("new")) && mv \(folder.file("new")) \(folder.file("stored")) ;;
            esac
            """,
            time: time)
        var settled = SettledDecisions()
        let found = try #require(await keeper.offer(after: refusal, of: record(nil), policy)?.found)
        settled.use(found, for: Self.demand)
        #expect(keeper.lookingUp(record(settled), user().0).settled?.spaces.map(\.password) == ["p"])
        keeper.worked(settled.unproven, for: user().0)
        let isStored = await eventually(within: 30) { (try? Files.text(folder.file("stored"))) != nil }
        #expect(isStored)
        #expect(try Files.text(folder.file("stored")).contains("password=p\npassword_expiry_utc=\(end)\n"))
        time.advance(61)
        let later = keeper.lookingUp(record(settled), user().0)
        #expect(later.settled?.spaces.map(\.password) == [nil])
        // It was not sent, so it was not refused: the helper is asked for another one.
        let again = try #require(await keeper.offer(after: refusal, of: later, policy))
        #expect(again.found == nil && again.helper == .failed)
    }

    /// The user whom the task names is looked for, in the store and with the helper. Nobody else's credential is sent.
    @Test func aTaskThatNamesItsUserGetsNobodyElses() async throws {
        let script =
            "[ $1 = get ] && { grep -q username=carl && echo username=carl || echo username=dora; echo password=p; }"
        let (keeper, policy) = try await helped(script)
        try await keeper.set(credential("anna"), isDefault: nil, in: .shared(Self.anna))
        try await keeper.set(credential("bert"), isDefault: nil, in: .shared(Self.anna))
        func found(_ user: String) async -> String? {
            await keeper.offer(after: refusal, of: record(nil, "https://\(user)@a.org/x"), policy)?.found?.username
        }
        #expect(await found("bert") == "bert")
        #expect(await found("carl") == "carl")
        #expect(await found("emil") == nil)
        var settled = SettledDecisions()
        settled.use(FoundCredential(username: "bert", password: "p", source: .store), for: Self.demand)
        let claimed = keeper.lookingUp(record(settled, "https://bert@a.org/x"), user().0)
        #expect(claimed.settled?.spaces.map(\.username) == ["bert"])
        // Another server has not been named a user.
        #expect(
            await keeper.offer(after: refusal, of: record(nil, "https://emil@b.org/"), policy)?.found?.username
                == "anna")
    }

    /// The error says where credentials were looked for, and what was wrong with them.
    @Test(arguments: [("exit 0", "nothing"), ("exit 3", "failed"), ("echo nonsense", "failed")])
    func theErrorNamesTheHelper(script: String, word: String) async throws {
        let (keeper, policy) = try await helped(script)
        var error = refusal.error
        try #require(await keeper.offer(after: refusal, of: record(nil), policy)).explain(&error)
        #expect(error.details["credentialHelper"] == .string(word))
        #expect(error.details["protectionSpace"] == "https://a.org:443")
        #expect(error.message.contains("credential helper") && error.details["storedCredential"] == nil, "\(error)")
    }

    /// Also if nothing is left that could answer.
    @Test func theErrorNamesARefusedCredential() async throws {
        try await keeper.set(credential("anna"), isDefault: nil, in: .shared(Self.anna))
        let (_, policy) = user { ($0.network.username, $0.network.password) = ("anna", "p") }
        var error = refusal.error
        let offer = try #require(await keeper.offer(after: refusal, of: record(nil), policy))
        offer.explain(&error)
        #expect(offer.found == nil && error.details["storedCredential"] == "refused")
        #expect(error.details["credentialHelper"] == nil && error.message.contains("stored"), "\(error)")
    }

    /// A client that answers challenges is shown whose credential is stored. What it gave to the session is sent.
    @Test func aClientThatAsksIsAskedFirst() async throws {
        try await keeper.set(credential("anna"), isDefault: nil, in: .shared(Self.anna))
        let (_, policy) = user { $0.asks = [.challenge] }
        let offer = await keeper.offer(after: refusal, of: record(nil), policy)
        #expect(offer?.found == nil && offer?.proposedUser == "anna")
        try await keeper.set(credential("own", .session), isDefault: nil, in: .session(Self.session))
        #expect(await keeper.offer(after: refusal, of: record(nil), policy)?.found?.username == "own")
    }

    /// The task's own credential was refused, and the same one in the store is not sent again.
    @Test func whatTheTaskSentItselfIsNotSentAgain() async throws {
        try await keeper.set(credential("anna"), isDefault: nil, in: .shared(Self.anna))
        let (_, policy) = user {
            $0.mayHaveCredentials = true
            ($0.network.username, $0.network.password) = ("anna", "p")
        }
        let offer = await keeper.offer(after: refusal, of: record(nil), policy)
        #expect(offer != nil && offer?.found == nil && offer?.wasOwnSent == true)
    }

    /// A weaker method takes a credential that is stored for it alone, and none that a stronger one refused.
    @Test func aWeakerMethodHasItsOwnCredential() async throws {
        let failure = refused(with: "NTLM, Basic realm=\"r\"")
        let (_, policy) = user { $0.mayHaveCredentials = true }
        try await keeper.set(credential("anna"), isDefault: nil, in: .shared(Self.anna))
        let first = try #require(await keeper.offer(after: failure, of: record(nil), policy))
        #expect(first.space.method == .ntlm && first.found?.username == "anna")
        var settled = SettledDecisions()
        settled.use(try #require(first.found), for: first.space)
        let claimed = keeper.lookingUp(record(settled), user().0)
        let second = try #require(await keeper.offer(after: failure, of: claimed, policy))
        #expect(second.found == nil && second.space.method == .ntlm)
        var basic = credential("bert")
        (basic.space.method, basic.space.realm) = (.httpBasic, "r")
        try await keeper.set(basic, isDefault: nil, in: .shared(Self.anna))
        let third = try #require(await keeper.offer(after: failure, of: record(nil), policy))
        #expect(third.space.method == .httpBasic && third.found?.username == "bert")
        // The task's own goes by itself where Basic is offered: it was sent, and is not sent by NTLM.
        let (_, own) = user { ($0.network.username, $0.network.password) = ("carl", "p") }
        let last = try #require(await keeper.offer(after: failure, of: record(nil), own))
        #expect(last.wasOwnSent && last.found?.source != .task)
    }

    /// A redirect through another origin dropped the task's own credential: it was not refused, and answers now, once.
    @Test func whatARedirectDroppedIsNotRefused() async throws {
        let (_, policy) = user { ($0.network.username, $0.network.password) = ("anna", "p") }
        let head = refusal.challenge.map { head -> ResponseHead in
            var head = head
            head.isForeign = true
            return head
        }
        let failure = FailureClassifier.answered(try #require(head), now: Timestamp(milliseconds: 0))
        let first = try #require(await keeper.offer(after: failure, of: record(nil), policy))
        #expect(first.found?.source == .task && !first.wasOwnSent && first.isOwnDropped)
        var settled = SettledDecisions()
        settled.use(try #require(first.found), for: Self.demand)
        let second = try #require(await keeper.offer(after: failure, of: record(settled), policy))
        #expect(second.found == nil && second.wasOwnSent)
        // The redirect may be older than the attempt.
        var standing = SettledDecisions()
        standing.standing = StandingRequest(TaskRequest(url: "https://a.org/x"), isForeign: true)
        let later = try #require(await keeper.offer(after: refusal, of: record(standing), policy))
        #expect(later.found?.source == .task && !later.wasOwnSent)
    }

    /// One owner's credentials are limited across all sessions, and cost another owner nothing.
    @Test func oneOwnersAreBounded() async throws {
        for (number, place) in (0..<Bounds.credentials).map({
            ($0, $0 % 2 == 0 ? CredentialKeeper.Place.volatile(Self.session) : .volatile(.shared(of: Self.anna)))
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
