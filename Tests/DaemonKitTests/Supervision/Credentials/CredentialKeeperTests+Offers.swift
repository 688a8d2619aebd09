import DaemonSetup
import Logging
import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

/// Which credential a task is offered after a server has asked.
extension CredentialKeeperTests {
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
}
