import Testing
import TransferModel

@testable import TransferCore

@Suite struct TLSChallengeTests {
    private func wish(_ key: String, of origin: String = "https://h:443", isAnother: Bool = false) -> TLSChallenge {
        TLSChallenge(
            origin: origin, .trust(key: key, reason: "expired", isAnother: isAnother, certificates: [[1, 2], [3]]))
    }

    private func tls(_ settled: SettledDecisions, asks: Bool = true) -> TLSDecisions? {
        var session = SessionConfiguration()
        session.asks = asks ? [.challenge] : nil
        var policy = EffectivePolicy(spec: TaskSpec(), session: session)
        policy.apply(settled)
        return policy.network.tls
    }

    @Test func theQuestionTellsWhatWasShown() {
        var settled = SettledDecisions()
        let asked = settled.challenged(wish("k1", of: "https://[::1]:8443", isAnother: true))
        #expect(asked?.protectionSpace?.host == "::1" && asked?.protectionSpace?.port == 8443)
        #expect(asked?.protectionSpace?.method == .serverTrust && asked?.default == .reject)
        #expect(asked?.certificates == ["AQI=", "Aw=="] && asked?.key == "k1" && asked?.keyChanged == true)
        #expect(asked?.reason == "the pinned key has changed (expired)")
        let first = settled.challenged(wish("k1"))
        #expect(first?.reason == "expired" && first?.keyChanged == false)
        #expect(asked?.actions == [.trust, .performDefaultHandling, .cancel])
        let unread = settled.challenged(wish("k", of: "nonsense"))
        #expect(unread == nil)
    }

    @Test func aKeyIsTrustedAtOnePlaceUntilAnotherComes() throws {
        var settled = SettledDecisions()
        let questionAsked = settled.challenged(wish("k1"))
        let asked = try #require(questionAsked)
        settled.answered(asked, with: DecisionAnswer(.trust))
        #expect(tls(settled)?.places.map(\.key) == ["k1"] && tls(settled)?.isAsked == true)
        #expect(tls(settled)?.places.map(\.origin) == ["https://h:443"])
        #expect(tls(settled, asks: false)?.isAsked == false)
        let questionAgain = settled.challenged(wish("k2", isAnother: true))
        let again = try #require(questionAgain)
        // If two keys alternate, both are trusted.
        var both = settled
        both.answered(again, with: DecisionAnswer(.trust))
        #expect(tls(both)?.places.map(\.key) == ["k1;k2"])
        // Until the answer, the old key stays trusted. A client that asks again is told of the change again.
        #expect(tls(settled)?.places.map(\.key) == ["k1"])
        settled.answered(again, with: DecisionAnswer(.performDefaultHandling))
        #expect(tls(settled)?.places.isEmpty == true)
        let third = settled.challenged(wish("k3"))
        #expect(third == nil)
        let elsewhere = settled.challenged(wish("k3", of: "https://other:443"))
        #expect(elsewhere != nil)
    }

    @Test func theTaskTrustsWhatItsSessionDoes() throws {
        var settled = SettledDecisions()
        let questionAsked = settled.challenged(wish("own"))
        let asked = try #require(questionAsked)
        settled.answered(asked, with: DecisionAnswer(.trust))
        let both = settled.adding([
            TrustedKey(origin: "https://h:443", key: "k"), TrustedKey(origin: "https://o:443", key: "o"),
        ])
        #expect(both.spaces.map(\.key) == ["k;own", "o"])
    }

    @Test func afterTooManyQuestionsVerificationDecides() {
        var settled = SettledDecisions()
        settled.asked = Bounds.decisions - 1
        #expect(tls(settled)?.isAsked == true)
        settled.asked = Bounds.decisions
        #expect(tls(settled)?.isAsked == false)
    }

    @Test func aCertificateIsShownWhereItWasWanted() throws {
        var settled = SettledDecisions()
        let wanted = TLSChallenge(origin: "https://h:443", .certificate(authorities: [[0x30]]))
        let questionAsked = settled.challenged(wanted)
        let asked = try #require(questionAsked)
        #expect(asked.distinguishedNames == ["MA=="] && asked.default == .wait)
        #expect(asked.actions == [.useCredential, .performDefaultHandling, .cancel])
        var declined = settled
        declined.answered(asked, with: DecisionAnswer(.performDefaultHandling))
        #expect(tls(declined)?.places.map(\.showsNone) == [true])
        let credential = DecisionCredential(ClientCertificate(certificate: "/c"))
        settled.answered(asked, with: DecisionAnswer(.useCredential, credential: credential))
        #expect(tls(settled)?.places.map(\.certificate?.certificate) == ["/c"])
        let again = settled.challenged(wanted)
        #expect(again == nil)
    }
}
