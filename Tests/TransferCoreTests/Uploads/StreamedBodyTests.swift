import Testing
import TransferModel

@testable import TransferCore

/// Bodies that are streamed to a client: which are sent, and which are resumed.
struct StreamedBodyTests {
    private func prepared(
        _ body: StreamedBody = StreamedBody(), _ change: (inout TaskSpec) -> Void = { _ in }
    ) -> StrategyRequest {
        var prepared = request("https://example.org/api") {
            $0.kind = .data
            $0.stream = true
            change(&$0)
        }
        prepared.streamed = body
        return prepared
    }

    private func accepted(
        _ fields: KeyValuePairs<String, String> = ["Content-Length": "100", "ETag": "\"a\""], status: Int = 200,
        _ change: (inout TaskSpec) -> Void = { _ in }
    ) throws -> Acceptance {
        let verdict = try Stepper(prepared(StreamedBody(), change)).exchange.judge.judge(head(status, fields))
        guard case .accept(let acceptance) = verdict else { throw Refused(verdict: verdict) }
        return acceptance
    }

    private struct Refused: Error { var verdict: Verdict }

    /// Returns the end of an exchange after which the client has `offset` bytes.
    private func ended(
        _ end: ExchangeOutcome.End, at offset: ByteCount, _ verdict: Verdict? = nil, status: Int = 200
    ) -> ExchangeOutcome {
        var outcome = ExchangeOutcome(end: end, head: head(status))
        outcome.offset = offset
        outcome.verdict = verdict
        return outcome
    }

    private let broken = ExchangeOutcome.End.transport(code: 56, message: "lost")

    // MARK: The judge

    @Test func aBodyThatIsNotWantedIsNotRead() throws {
        for status in [300, 401, 404, 503] {
            #expect(throws: Refused.self) { try accepted(["Content-Length": "5"], status: status) }
        }
        var wanted = prepared()
        wanted.acceptsAnyStatus = true
        guard case .accept? = try Stepper(wanted).exchange.judge.judge(head(404)) as Verdict? else {
            Issue.record("404 is an answer")
            return
        }
        wanted.asksChallenges = .all
        let challenge = head(401, ["WWW-Authenticate": "Basic realm=\"r\""])
        guard case .stop = try Stepper(wanted).exchange.judge.judge(challenge) else {
            Issue.record("a challenge is a question")
            return
        }
    }

    @Test func onlyWhatCanBeContinuedHasAValidator() throws {
        #expect(try accepted().validators.etag == "\"a\"")
        #expect(try accepted().total == 100)
        #expect(try accepted { $0.method = "POST" }.validators.etag == nil)
        #expect(try accepted { $0.headers = [HeaderField("Range", "bytes=0-99")] }.validators.etag == nil)
        #expect(try accepted(["ETag": "\"a\""], status: 203).validators.etag == nil)
        let coded: KeyValuePairs = ["ETag": "\"a\"", "Content-Encoding": "gzip", "Content-Length": "9"]
        #expect(try accepted(coded).validators.etag == nil)
        #expect(try accepted(coded).total == nil)
        let asItComes = try accepted(coded) { $0.headers = [HeaderField("Accept-Encoding", "gzip")] }
        #expect(asItComes.validators.etag == "\"a\"" && asItComes.total == 9)
        #expect(try accepted { $0.method = "HEAD" }.total == 0)
        #expect(throws: Refused.self) { try accepted(["Content-Encoding": "rot13"]) }
    }

    // MARK: The rest

    @Test func theRestIsAskedForUnderTheValidator() throws {
        var subject = try Stepper(prepared(StreamedBody(offset: 40, acceptance: try accepted())))
        let exchange = try subject.exchange
        #expect(exchange.header("Range") == "bytes=40-")
        #expect(exchange.header("If-Range") == "\"a\"")
        #expect(exchange.header("Accept-Encoding") == "identity")
        #expect(!exchange.decodesBody)
        let rest: KeyValuePairs = ["Content-Range": "bytes 40-99/100", "ETag": "\"a\""]
        guard case .accept(let acceptance) = exchange.judge.judge(head(206, rest)) else {
            Issue.record("the rest is refused")
            return
        }
        #expect(acceptance.offset == 40 && acceptance.expected == 60)
        #expect(subject.after(ended(.finished, at: 100, status: 206)).result != nil)
    }

    @Test(
        arguments: [
            (200, ["Content-Length": "100", "ETag": "\"b\""]), (200, ["Content-Length": "100"]),
            (206, ["Content-Range": "bytes 41-99/100", "ETag": "\"a\""]),
            (206, ["Content-Range": "bytes 40-99/100", "ETag": "\"b\""]),
            (206, ["Content-Range": "bytes 40-199/200", "ETag": "\"a\""]), (206, ["ETag": "\"a\""]),
        ] as [(Int, [String: String])])
    func whatIsNotTheRestEndsTheTask(status: Int, fields: [String: String]) throws {
        var subject = try Stepper(prepared(StreamedBody(offset: 40, acceptance: try accepted())))
        var answer = head(status)
        answer.headers = fields.map { HeaderField($0.key, $0.value) }
        let verdict = try subject.exchange.judge.judge(answer)
        guard case .stop(let reason) = verdict, case .restart = reason else {
            Issue.record("\(verdict)")
            return
        }
        let failure = subject.after(ended(.stopped(reason), at: 40, verdict)).failure
        #expect(failure?.disposition == .permanent && failure?.error.code == .validatorChanged)
        #expect(failure?.error.details["delivered"] == 40)
    }

    /// A 200 with the validator of the held bytes, in spite of If-Range. The strategy then asks once more with the
    /// range alone.
    @Test func aServerThatIgnoresIfRangeIsAskedOnceMore() throws {
        var subject = try Stepper(prepared(StreamedBody(offset: 40, acceptance: try accepted())))
        let again = try subject.exchange.judge.judge(head(200, ["Content-Length": "100", "ETag": "\"a\""]))
        #expect(again == .stop(.bareRange))
        let bare = try #require(subject.after(ended(.stopped(.bareRange), at: 40)).exchange)
        #expect(bare.header("Range") == "bytes=40-" && bare.header("If-Range") == nil)
        guard case .stop(.restart) = bare.judge.judge(head(206, ["Content-Range": "bytes 40-99/100"])) else {
            Issue.record("nothing proves the version")
            return
        }
    }

    @Test func nothingIsAskedForThatTheClientHas() throws {
        let subject = try Stepper(prepared(StreamedBody(offset: 100, acceptance: try accepted())))
        #expect(subject.step.result != nil)
    }

    // MARK: Failures

    @Test func aFailureIsFinalOnceBytesCannotBeContinued() throws {
        for (fields, isFinal) in [(["ETag": "\"a\""], false), (["ETag": "W/\"a\""], true), ([:], true)]
            as [(KeyValuePairs<String, String>, Bool)]
        {
            let acceptance = try accepted(fields)
            for offset in [0, 40] as [ByteCount] {
                var subject = try Stepper(prepared())
                let failure = subject.after(ended(broken, at: offset, .accept(acceptance))).failure
                #expect((failure?.disposition == .permanent) == (isFinal && offset > 0), "\(fields) \(offset)")
                #expect(failure?.error.code == .networkLost)
            }
        }
    }

    @Test func anotherAttemptKnowsWhatCannotBeContinued() throws {
        let acceptance = try accepted(["Content-Length": "100"])
        let failure = try Stepper(prepared(StreamedBody(offset: 40, acceptance: acceptance))).step.failure
        #expect(failure?.disposition == .permanent && failure?.error.code == .validatorChanged)
        #expect(failure?.error.message.contains("no strong validator") == true)
    }
}
