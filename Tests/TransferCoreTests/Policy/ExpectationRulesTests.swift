import Testing
import TransferModel

@testable import TransferCore

struct ExpectationRulesTests {
    private func asks(
        _ rules: ExpectationRules, _ length: ByteCount, wanted: Bool = false, challenged: Bool = false,
        origin: String = "https://a:443", at now: Int64 = 0
    ) -> Bool {
        rules.apply(to: length, isWanted: wanted, mayBeChallenged: challenged, origin: origin, at: now)
    }

    @Test func largeBodiesAsk() {
        let rules = ExpectationRules()
        #expect(asks(rules, .mebibytes(1)))
        #expect(!asks(rules, .mebibytes(1) - 1))
        #expect(asks(rules, .kibibytes(64), challenged: true))
        #expect(!asks(rules, .kibibytes(64) - 1, challenged: true))
    }

    @Test func theCallersWordCounts() {
        var rules = ExpectationRules()
        rules.wasIgnored(by: "https://a:443", at: 0)
        #expect(asks(rules, 1, wanted: true))
        #expect(!asks(rules, 0, wanted: true))
    }

    @Test func whoDoesNotAnswerIsLeftAloneForAWhile() {
        var rules = ExpectationRules()
        rules.wasIgnored(by: "https://a:443", at: 10)
        #expect(!asks(rules, .mebibytes(9), at: 10 + ExpectationRules.memory - 1))
        #expect(asks(rules, .mebibytes(9), at: 10 + ExpectationRules.memory))
        #expect(asks(rules, .mebibytes(9), origin: "https://b:443", at: 10))
    }

    @Test func theOldestAreForgottenFirst() {
        var rules = ExpectationRules()
        for number in 0..<300 { rules.wasIgnored(by: "https://h\(number):443", at: Int64(number)) }
        #expect(asks(rules, .mebibytes(1), origin: "https://h0:443", at: 300))
        #expect(!asks(rules, .mebibytes(1), origin: "https://h299:443", at: 300))
    }
}
