import TransferCore
import TransferModel
import TransferRPC

/// Parameters of `decision.answer`: the request that a client wants in place of a redirect can be sent, and what was
/// meant for one server goes to no other. Input: JSON.
struct AnswerProbe: Probe {
    private static let secret = HeaderField("X-Key", "secret")
    private static let home = "https://example.org/there"
    /// Returns the decisions that are in force after an answer.
    var settle: @Sendable (SettledDecisions, Question, DecisionAnswer) -> SettledDecisions

    static let target = FuzzTarget(
        "answer",
        words: [
            "{\"id\":1,\"action\":\"followWith\",\"request\":", "\"url\":\"https://example.org/\"",
            "\"url\":\"http://example.com:80\"", "\"method\":\"HEAD\"", "\"headers\":[[\"A\",\"b\"]]",
            "\"body\":{\"text\":\"x\"}", "\"body\":{\"base64\":\"eA==\"}", "\"body\":{\"file\":\"/x\"}", "@", "\\n",
            ":0",
            "HTTPS://EXAMPLE.ORG:443/", "}", "null", "[]",
        ],
        AnswerProbe { settled, question, answer in
            var settled = settled
            settled.answered(question, with: answer)
            return settled
        },
        // The fields for one server go to another.
        planted: AnswerProbe { settled, question, answer in
            var settled = settled
            settled.answered(question, with: answer)
            if settled.standing?.isForeign == true { settled.standing?.request.headers = [secret] }
            return settled
        })

    func check(_ input: [UInt8]) throws {
        guard let parameters = try? JSONCoding.decode(AnswerDecision.self, from: input),
            let request = parameters.request, (try? SpecRules(path: "request").check(request)) != nil
        else { return }
        var settled = SettledDecisions()
        let target = StandingRequest(
            TaskRequest(url: Self.home, method: "PUT", headers: [Self.secret, HeaderField("Accept", "*/*")]),
            redirects: 1)
        guard let question = settled.redirected(to: target, response: nil) else { return }
        settled = settle(settled, question, DecisionAnswer(.followWith, request: request))
        guard let standing = settled.standing else { throw Violation(description: "nothing stands") }
        let url = try URLRules.parse(standing.request.url ?? "")
        try hold(
            standing.isForeign == (url.hostKey != "https://example.org:443"),
            "\(shown(url.requestURL)) is \(standing.isForeign ? "" : "not ")foreign")
        let fields = standing.request.headers ?? []
        try hold(
            !standing.isForeign || request.headers != nil || !fields.contains(Self.secret),
            "\(shown(url.requestURL)) gets the fields of another server")
        try hold(
            request.body == nil || !standing.sendsOwnBody, "the task's own body goes along with another")
        var ask = StrategyRequest(spec: TaskSpec(), now: Timestamp(milliseconds: 0))
        ask.spec.kind = .data
        ask.ask(standing)
        do {
            _ = try StrategyRegistry.upload(for: ask)
        } catch {
            try hold([.badField, .badURL].contains(error.code) && !error.message.isEmpty, "\(error)")
        }
    }
}
