import Testing
import TransferModel

@testable import TransferCore

struct UploadAnswerTests {
    private func isAnswer(_ end: ExchangeOutcome.End, head: ResponseHead?) -> Bool {
        ExchangeOutcome(end: end, head: head).answer() != nil
    }

    @Test func aStatusCountsHoweverTheConnectionEnded() {
        #expect(isAnswer(.finished, head: head(200)))
        #expect(isAnswer(.transport(code: 55, message: ""), head: head(413)))
        #expect(isAnswer(.stalled, head: head(500)))
        #expect(!isAnswer(.finished, head: nil))
        #expect(!isAnswer(.aborted, head: head(200)))
        #expect(!isAnswer(.local(errno: 5, operation: "read"), head: head(200)))
    }

    @Test(arguments: [(200, false), (204, false), (413, true), (308, true)])
    func aSuccessBeforeAllWasSentIsNone(_ status: Int, _ counts: Bool) {
        var outcome = ExchangeOutcome(end: .transport(code: 55, message: ""), head: head(status))
        outcome.isSentWhole = false
        #expect((outcome.answer() != nil) == counts)
    }

    @Test func whyThereIsNoAnswerIsSaid() {
        var outcome = ExchangeOutcome(end: .finished, head: head(201))
        outcome.isSentWhole = false
        let failure = outcome.failure("https://example.org/f")
        #expect(failure.error.code == .networkLost)
        #expect(failure.error.message.contains("201"))
        #expect(failure.disposition == .transient(after: nil))
        #expect(lost(60).failure("https://example.org/f").error.code == .tlsUntrusted)
    }

    @Test func numbersAreReadStrictly() {
        #expect(head(200, ["N": " 7 "]).count("n") == 7)
        #expect(head(200, ["N": "7", "n": "7"]).count("n") == 7)
        #expect(head(200, ["N": "7", "n": "8"]).count("n") == nil)
        #expect(head(200, ["N": "+7"]).count("n") == nil)
    }
}
