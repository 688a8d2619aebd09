import Testing
import TransferModel

@testable import TransferCore

struct UploadAnswerTests {
    private func isAnswer(_ end: ExchangeOutcome.End, head: ResponseHead?) -> Bool {
        if case .head = UploadAnswer(ExchangeOutcome(end: end, head: head)) { true } else { false }
    }

    @Test func aStatusCountsHoweverTheConnectionEnded() {
        #expect(isAnswer(.finished, head: head(200)))
        #expect(isAnswer(.transport(code: 55, message: ""), head: head(413)))
        #expect(isAnswer(.stalled, head: head(500)))
        #expect(!isAnswer(.finished, head: nil))
        #expect(!isAnswer(.aborted, head: head(200)))
        #expect(!isAnswer(.local(errno: 5, operation: "read"), head: head(200)))
    }

    @Test func numbersAreReadStrictly() {
        #expect(head(200, ["N": " 7 "]).count("n") == 7)
        #expect(head(200, ["N": "7", "n": "7"]).count("n") == 7)
        #expect(head(200, ["N": "7", "n": "8"]).count("n") == nil)
        #expect(head(200, ["N": "+7"]).count("n") == nil)
    }
}
