import Testing
import TransferModel

@testable import TransferCore

struct RepeatRulesTests {
    @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
    func idempotentMethodsAreRepeated(_ method: String) {
        #expect(RepeatRules.mayRepeat(method, payload: nil, after: answer(500)))
        #expect(RepeatRules.mayRepeat(method, payload: 10, after: lost(52, sent: 10)))
    }

    @Test func othersOnlyWithProof() {
        let cases: [(ExchangeOutcome, ByteCount?, Bool)] = [
            (answer(503), 10, true), (answer(429), 10, true), (answer(421), 10, true), (answer(500), 10, false),
            (answer(502), 10, false), (lost(52, sent: 10), 10, false), (lost(56, sent: 9), 10, true),
            (lost(52), nil, false), (lost(52, sent: 3), 10, false), (lost(7), nil, true), (lost(6), nil, true),
            (lost(35), nil, true),
        ]
        for (outcome, payload, isRepeated) in cases {
            #expect(RepeatRules.mayRepeat("POST", payload: payload, after: outcome) == isRepeated)
        }
        var refused = answer(500)
        refused.continueRefused = true
        #expect(RepeatRules.mayRepeat("POST", payload: 10, after: refused))
    }

    @Test func whatNeverLeftIsNoRequest() {
        for end in [ExchangeOutcome.End.aborted, .stalled, .transport(code: 28, message: "")] {
            var outcome = ExchangeOutcome(end: end)
            #expect(!RepeatRules.mayRepeat("POST", payload: nil, after: outcome))
            outcome.wasSent = false
            #expect(RepeatRules.mayRepeat("POST", payload: nil, after: outcome))
        }
    }

    /// A 303 says that the POST was done. If the GET after it finds no server, the POST is still done.
    @Test(arguments: [7, 56])
    func whatWasRedirectedToAGetIsDone(_ code: Int) {
        var outcome = lost(code)
        outcome.becameGET = true
        #expect(!RepeatRules.mayRepeat("POST", payload: 10, after: outcome))
        #expect(RepeatRules.mayRepeat("PUT", payload: 10, after: outcome))
    }
}
