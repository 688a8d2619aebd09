import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct DecisionLinesTests {
    @Test func aQuestionSaysWhoAsksAndHowToAnswer() {
        var question = Question(.challenge, default: .wait)
        question.protectionSpace = ProtectionSpace(
            host: "::1", port: 8443, protocol: "https", realm: "your \u{1B}bank", method: .httpDigest, isProxy: true)
        question.previousFailureCount = 2
        question.proposedUser = "anna"
        let record = DecisionRecord(
            id: DecisionID(3), task: TaskID(12), session: .shared(of: UserID(1000)), state: .open, question: question,
            askedAt: Timestamp(milliseconds: 0), answer: nil, settled: SettledDecisions())
        let lines = DecisionLines.render(DecisionView(record), now: Timestamp(milliseconds: 0)).map(\.plain)
        #expect(
            lines == [
                "3  task 12  challenge  The proxy https://[::1]:8443 wants a user name and a password (Digest); it calls itself "
                    + "\"your \u{FFFD}bank\". It has refused 2 credentials, the last of user anna.",
                "    dlctl answer 3 useCredential --user NAME", "    dlctl answer 3 rejectProtectionSpace",
                "    dlctl answer 3 cancel",
            ])
    }
}
