import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct DecisionLinesTests {
    private func lines(_ question: Question) -> [String] {
        let record = DecisionRecord(
            id: DecisionID(3), task: TaskID(12), session: .shared(of: UserID(1000)), state: .open, question: question,
            askedAt: Timestamp(milliseconds: 0), answer: nil, settled: SettledDecisions())
        return DecisionLines.render(DecisionView(record), of: "f.iso", now: Timestamp(milliseconds: 0)).map(\.plain)
    }

    private func question(_ method: AuthenticationMethod) -> Question {
        var question = Question(.challenge, default: .wait)
        question.protectionSpace = ProtectionSpace(
            host: "h", port: 443, protocol: "https", realm: nil, method: method, isProxy: false)
        return question
    }

    @Test func whoIsToBeTrustedIsShownByTheKey() {
        var asked = question(.serverTrust)
        (asked.key, asked.reason, asked.keyChanged) = ("sha256//abc=", "self-signed \u{1B}", false)
        #expect(
            lines(asked) == [
                "3  task 12 (f.iso)  challenge  The certificate of https://h:443 is not trusted: self-signed \u{FFFD}. Its key is "
                    + "sha256//abc=; trust it only if its operator tells you the same.",
                "    dlctl answer 3 trust", "    dlctl answer 3 performDefaultHandling", "    dlctl answer 3 cancel",
            ])
        asked.keyChanged = true
        #expect(lines(asked)[0].contains("https://h:443 shows another key than the one that you trusted: self-signed"))
    }

    /// A realm is the server's text and stays inside its quotes.
    @Test func aRealmDoesNotLeaveItsQuotes() {
        var asked = question(.httpBasic)
        asked.protectionSpace?.realm = "evil\" says: \u{1B}"
        #expect(lines(asked)[0].hasSuffix("; it calls itself \"evil' says: \u{FFFD}\"."))
    }

    @Test func whatWouldBeStoredIsShown() {
        var asked = Question(.cache, default: .memoryOnly)
        var response = ResponseInfo(url: "http://a/")
        (response.status, response.mimeType, response.expectedLength) = (200, "text/plain", 2048)
        (asked.response, asked.deadline) = (response, Timestamp(milliseconds: 60_000))
        let shown = lines(asked)
        #expect(
            shown.first
                == "3  task 12 (f.iso)  cache  The server answers 200, text/plain, 2.0 KiB: is that to be kept in the cache?"
        )
        #expect(shown.dropFirst().first?.hasPrefix("    If nobody answers, dld takes memoryOnly at ") == true)
        #expect(shown.suffix(3) == ["store", "memoryOnly", "doNotStore"].map { "    dlctl answer 3 \($0)" })
    }

    @Test func whoWantsACertificateIsShown() {
        #expect(
            lines(question(.clientCertificate)) == [
                "3  task 12 (f.iso)  challenge  https://h:443 wants a client certificate from you.",
                "    dlctl answer 3 useCredential --certificate FILE", "    dlctl answer 3 performDefaultHandling",
                "    dlctl answer 3 cancel",
            ])
    }

    @Test func aQuestionSaysWhoAsksAndHowToAnswer() {
        var question = Question(.challenge, default: .wait)
        question.protectionSpace = ProtectionSpace(
            host: "::1", port: 8443, protocol: "https", realm: "your \u{1B}bank", method: .httpDigest, isProxy: true)
        question.previousFailureCount = 2
        question.proposedUser = "anna"
        let record = DecisionRecord(
            id: DecisionID(3), task: TaskID(12), session: .shared(of: UserID(1000)), state: .open, question: question,
            askedAt: Timestamp(milliseconds: 0), answer: nil, settled: SettledDecisions())
        let lines = DecisionLines.render(DecisionView(record), of: "f.iso", now: Timestamp(milliseconds: 0)).map(
            \.plain)
        #expect(
            lines == [
                "3  task 12 (f.iso)  challenge  The proxy https://[::1]:8443 wants a user name and a password (Digest); it calls itself "
                    + "\"your \u{FFFD}bank\". It has refused 2 credentials, the last of user anna.",
                "    dlctl answer 3 useCredential --user NAME", "    dlctl answer 3 rejectProtectionSpace",
                "    dlctl answer 3 cancel",
            ])
    }
}
