import Testing
import TransferModel

@testable import TransferCore

@Suite struct SettledDecisionsTests {
    private func space(_ host: String, isProxy: Bool = false) -> ProtectionSpace {
        ProtectionSpace(host: host, port: 443, protocol: "https", realm: "r", method: .httpBasic, isProxy: isProxy)
    }

    private func use(_ user: String) -> DecisionAnswer {
        DecisionAnswer(.useCredential, credential: DecisionCredential(username: user, password: "p"))
    }

    private func policy(_ settled: SettledDecisions, proxy: String? = nil) -> EffectivePolicy {
        var session = SessionConfiguration()
        session.asks = [.challenge]
        session.proxy = proxy
        var policy = EffectivePolicy(spec: TaskSpec(), session: session)
        policy.apply(settled)
        return policy
    }

    @Test func aRefusedCredentialIsCountedAndForgotten() {
        var settled = SettledDecisions()
        let first = settled.challenged(space("a"), ownUser: nil, response: nil)
        #expect(first?.previousFailureCount == 0)
        settled.answered(space("a"), with: use("anna"))
        #expect(policy(settled).network.answered.map(\.username) == ["anna"])
        let again = settled.challenged(space("a"), ownUser: nil, response: nil)
        #expect(again?.previousFailureCount == 1 && again?.proposedUser == "anna")
        #expect(policy(settled).network.answered.isEmpty)
    }

    @Test func theTasksOwnCredentialCountsOnce() {
        var settled = SettledDecisions()
        for _ in 0..<2 {
            let asked = settled.challenged(space("a"), ownUser: "own", response: nil)
            #expect(asked?.previousFailureCount == 1 && asked?.proposedUser == "own")
        }
    }

    /// Neither the members of the task nor the user name of its URL are sent again, nor what the proxy's URL names.
    @Test func whatTheTaskHasOfItsOwnIsNotSentAgain() throws {
        func applied(_ settled: SettledDecisions) throws -> NetworkOptions {
            var spec = TaskSpec()
            (spec.username, spec.password, spec.netrc) = ("own", "p", "/netrc")
            spec.proxy = "http://old:word@proxy:8080"
            var policy = EffectivePolicy(spec: spec, session: SessionConfiguration())
            policy.apply(settled)
            return policy.network
        }
        func user(_ network: NetworkOptions) throws -> String? {
            var network = network
            network.chooseCredentials(for: try URLRules.parse("https://named:p@a/"), [])
            return network.username
        }
        #expect(try user(applied(SettledDecisions())) == "own")
        var settled = SettledDecisions()
        settled.refuseOwn(by: space("a"))
        let network = try applied(settled)
        #expect(network.username == nil && network.password == nil && network.netrcPath == nil)
        #expect(try user(network) == nil)
        #expect(network.proxy?.contains("old") == true)
        // The client's answer is used in its place.
        settled.answered(space("a"), with: use("anna"))
        #expect(try applied(settled).answered.map(\.username) == ["anna"])
        let proxy = ProtectionSpace(
            host: "proxy", port: 8080, protocol: "http", realm: nil, method: .httpBasic, isProxy: true)
        var byProxy = SettledDecisions()
        byProxy.refuseOwn(by: proxy)
        #expect(try applied(byProxy).proxy?.contains("old") == false)
        #expect(try applied(byProxy).username == "own")
    }

    @Test func eachPlaceHasItsOwn() {
        var settled = SettledDecisions()
        settled.answered(space("a"), with: use("anna"))
        let other = settled.challenged(space("b"), ownUser: nil, response: nil)
        #expect(other?.previousFailureCount == 0)
        settled.answered(space("b"), with: use("bert"))
        settled.answered(space("a", isProxy: true), with: use("proxy"))
        let network = policy(settled, proxy: "https://old:word@a:443").network
        #expect(network.answered.map(\.origin) == ["https://a:443", "https://b:443"])
        #expect(network.proxyCredential?.username == "proxy" && network.proxy?.contains("old") == false)
        #expect(policy(settled, proxy: "https://other:443").network.proxyCredential == nil)
    }

    @Test func nobodyIsAskedWithoutEnd() {
        var settled = SettledDecisions()
        var asked = 0
        while settled.challenged(space("a"), ownUser: nil, response: nil) != nil {
            asked += 1
            settled.answered(space("a"), with: use("x"))
        }
        #expect(asked == Bounds.credentialFailures)
        var hosts = SettledDecisions()
        var places = 0
        while hosts.challenged(space("h\(places)"), ownUser: nil, response: nil) != nil { places += 1 }
        #expect(places == Bounds.decisions && hosts.spaces.count == Bounds.decisionSpaces)
    }

    /// A credential from the store is not kept with the task. By the next attempt it may be deleted, or refused to
    /// another task.
    @Test func whatTheStoreHadIsLookedUpAnew() throws {
        var settled = SettledDecisions()
        settled.use(FoundCredential(username: "anna", password: "secret", source: .store), for: space("a"))
        #expect(settled.spaces.map(\.password) == [nil] && settled.unproven.isEmpty)
        let there = settled.lookingUp { _ in FoundCredential(username: "bert", password: "new", source: .store) }
        #expect(policy(there).network.answered.map(\.password) == ["new"])
        #expect(policy(settled.lookingUp { _ in nil }).network.answered.isEmpty)
        var gift = SettledDecisions()
        gift.use(FoundCredential(username: "anna", password: "given", source: .helper), for: space("a"))
        #expect(policy(gift.lookingUp { _ in nil }).network.answered.map(\.password) == ["given"])
        let refused = gift.lookingUp(isUseless: { found, _ in found.password == "given" }) { _ in nil }
        #expect(policy(refused).network.answered.isEmpty)
        // If it is refused, it counts like a credential from a client.
        let again = settled.challenged(space("a"), ownUser: nil, response: nil)
        #expect(again?.previousFailureCount == 1 && again?.proposedUser == "anna")
    }

    /// A server has several realms. What is stored for one of them goes where a redirect leads only if its challenge
    /// there names that realm.
    @Test func eachRealmHasItsOwnCredential() throws {
        func space(_ realm: String) -> ProtectionSpace {
            ProtectionSpace(
                host: "a", port: 443, protocol: "https", realm: realm, method: .httpBasic, isProxy: false)
        }
        func stored(_ realm: String) -> FoundCredential {
            var found = FoundCredential(username: "of \(realm)", password: "p", source: .store)
            found.isOfRealm = true
            return found
        }
        var settled = SettledDecisions()
        _ = settled.challenged(space("r"), ownUser: nil, response: nil, at: "/one")
        settled.use(stored("r"), for: space("r"), at: "/one")
        for (realm, url) in [("s", "/two"), ("r", "/three")] {
            #expect(settled.credential(for: space(realm), at: url, isRedirected: true) == nil)
            let asked = settled.challenged(space(realm), ownUser: nil, response: nil, at: url, isRedirected: true)
            #expect(asked?.previousFailureCount == 0 && asked?.proposedUser == nil)
            settled.use(stored(realm), for: space(realm), at: url)
        }
        #expect(settled.spaces.count == 2)
        let there = settled.lookingUp { stored($0.realm ?? "") }
        let known = policy(there).network.answered
        let sent = ["/one", "/two", "/three", "/four"].map { url in
            NetworkOptions.OriginCredential.index(among: known, for: url, isRedirected: true).map { known[$0].username }
        }
        #expect(sent == ["of r", "of s", "of r", nil])
        // What was refused is forgotten there alone.
        let again = settled.challenged(space("s"), ownUser: nil, response: nil, at: "/two", isRedirected: true)
        #expect(again?.previousFailureCount == 1 && again?.proposedUser == "of s")
        #expect(settled.credential(for: space("r"), at: "/one")?.username == "of r")
    }

    @Test func whatHasToBeProvedIsKept() {
        var settled = SettledDecisions()
        let credential = DecisionCredential(username: "anna", password: "p", persistence: .permanent)
        settled.answered(space("a"), with: DecisionAnswer(.useCredential, credential: credential))
        settled.answered(space("b"), with: use("bert"))
        settled.use(FoundCredential(username: "hans", password: "p", source: .helper), for: space("c"))
        #expect(settled.unproven.map(\.username) == ["anna", "hans"])
        #expect(settled.unproven.map(\.demand) == [space("a"), space("c")])
        _ = settled.challenged(space("a"), ownUser: nil, response: nil)
        #expect(settled.unproven.map(\.username) == ["hans"])
    }

    @Test(arguments: [DecisionAction.rejectProtectionSpace, .performDefaultHandling])
    func whoDeclinesIsNotAskedAgain(action: DecisionAction) {
        var settled = SettledDecisions()
        settled.answered(space("a"), with: DecisionAnswer(action))
        #expect(policy(settled).asks.isEmpty)
        // A client that wants the default gets the stored credential. A client that rejects gets nothing.
        let isRejected = action == .rejectProtectionSpace
        let asked = settled.challenged(space("a"), ownUser: nil, response: nil)
        #expect((asked == nil) == isRejected)
        var open = EffectivePolicy(spec: TaskSpec(), session: SessionConfiguration())
        open.mayHaveCredentials = true
        open.apply(settled)
        #expect(open.answersChallenges == !isRejected)
    }
}
