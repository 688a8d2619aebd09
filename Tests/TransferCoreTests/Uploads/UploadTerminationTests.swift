import Testing
import TransferModel

@testable import TransferCore

struct UploadTerminationTests {
    private func after(_ outcome: ExchangeOutcome) -> UploadTermination {
        UploadTermination(outcome, now: reading().wall)
    }

    @Test(arguments: [200, 204, 404, 410, 499, 308, 401, 403, 405, 501])
    func anAnswerThatWillNotChangeSettlesIt(_ status: Int) {
        #expect(after(answer(status)) == .done)
    }

    @Test(arguments: [409, 423, 408, 429, 500, 502, 503, 504])
    func othersAreAskedAgain(_ status: Int) {
        #expect(after(answer(status)) == .again(after: nil))
        #expect(after(answer(status, ["Retry-After": "7"])) == .again(after: 7))
    }

    @Test func aServerThatIsAwayIsAskedAgain() {
        for code in [6, 7, 28, 52, 56] { #expect(after(lost(code)) == .again(after: nil)) }
        // Waiting does not make a certificate valid.
        #expect(after(lost(60)) == .done)
    }

    @Test func anInterruptionIsNoAnswer() {
        var outcome = answer(204)
        outcome.end = .aborted
        #expect(after(outcome) == .aborted)
    }
}
