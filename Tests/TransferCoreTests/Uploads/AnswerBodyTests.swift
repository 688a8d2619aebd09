import Testing
import TransferModel

@testable import TransferCore

struct AnswerBodyTests {
    private static func exchange(decodes: Bool = true) -> Exchange {
        var exchange = Exchange(url: "https://example.org/", judge: CaptureJudge())
        exchange.decodesBody = decodes
        return exchange
    }

    private static func coded(_ coding: String, status: Int = 200, body: String = "x") -> ExchangeOutcome {
        answer(status, ["Content-Encoding": coding], body: body)
    }

    private func use(_ outcome: ExchangeOutcome, decodes: Bool = true) -> AnswerBody {
        AnswerBody(of: outcome, to: Self.exchange(decodes: decodes))
    }

    @Test(arguments: [200, 201, 404, 503])
    func aCodedBodyIsDecodedWhateverTheStatus(status: Int) {
        #expect(use(Self.coded("gzip, br", status: status)) == .coded([.br, .gzip]))
    }

    @Test func whatHasNoCodingStays() {
        #expect(use(answer(200, body: "x")) == .asItCame)
        #expect(use(Self.coded("identity")) == .asItCame)
        // HEAD, 204 and 304 may name a coding and have no body. Some servers name one for an empty body too.
        #expect(use(Self.coded("gzip", body: "")) == .asItCame)
        // The caller asked for the coding.
        #expect(use(Self.coded("gzip"), decodes: false) == .asItCame)
        #expect(use(Self.coded("gzip", status: 206)) == .asItCame)
    }

    @Test func anUnknownCodingIsAnError() throws {
        guard case .unreadable(let error?) = use(Self.coded("compress, gzip")) else {
            Issue.record("no error")
            return
        }
        #expect(error.code == .httpProtocol && !error.retryable && error.message.contains("compress, gzip"))
        var outcome = Self.coded("compress")
        outcome.dropBody(because: error)
        #expect(outcome.body.isEmpty && outcome.end == .stopped(.failure(error, retryAfter: nil)))
    }

    /// A redirect that a client is asked about is kept; if it cannot be read, it must be requested again.
    @Test func aRedirectIsDecodedToo() {
        var redirect = Self.coded("gzip", status: 302)
        redirect.end = .stopped(.redirect(StandingRequest(TaskRequest(url: "https://b.example/"))))
        #expect(use(redirect) == .coded([.gzip]))
        redirect.dropBody(because: AnswerBody.unknown("gzip"))
        #expect(redirect.isBodyTruncated && redirect.end.redirect != nil)
        redirect.body = Array("x".utf8)
        #expect(use(redirect) == .unreadable(nil))
    }

    /// The reason why the exchange ended explains why there is no answer.
    @Test func aBodyThatIsNotWholeIsDropped() {
        for end in [ExchangeOutcome.End.transport(code: 18, message: ""), .aborted, .stalled] {
            var cut = Self.coded("gzip")
            cut.end = end
            #expect(use(cut) == .unreadable(nil))
            cut.dropBody(because: nil)
            #expect(cut.body.isEmpty && cut.end == end)
        }
        var long = Self.coded("gzip")
        long.isBodyTruncated = true
        #expect(use(long) == .unreadable(nil))
    }

    @Test func aDecodedBodyTakesThePlaceOfTheCodedOne() {
        var outcome = Self.coded("gzip")
        outcome.keep([1, 2])
        #expect(outcome.body == [1, 2] && !outcome.isBodyTruncated)
        outcome.keep(nil)
        #expect(outcome.body.isEmpty && outcome.isBodyTruncated)
    }
}
