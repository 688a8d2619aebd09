import Testing
import TransferModel

@testable import TransferCore

struct DataRequestTests {
    private func prepared(stored: UploadProgress? = nil, _ change: (inout TaskSpec) -> Void = { _ in })
        -> StrategyRequest
    {
        var prepared = request("https://example.org/api") {
            $0.kind = .data
            change(&$0)
        }
        prepared.upload = stored
        prepared.dataLimit = 1000
        return prepared
    }

    @Test func asksAndKeepsTheAnswer() throws {
        var subject = try Stepper(prepared { $0.headers = [HeaderField("Range", "bytes=0-9"), HeaderField("A", "1")] })
        let exchange = try subject.exchange
        #expect(exchange.kind == .request)
        #expect(exchange.method == "GET")
        #expect(exchange.payload == .none)
        #expect(exchange.header("Range") == "bytes=0-9")
        #expect(exchange.responseLimit == 1000)
        #expect(exchange.stopsAtResponseLimit)
        #expect(subject.step.stored == nil)
        let result = subject.after(answer(200, ["Content-Length": "2"], body: "hi")).result
        #expect(result?.body == Array("hi".utf8))
        #expect(result?.total == 0)
    }

    @Test func bodiesMakeItAPost() throws {
        let post = try Stepper(prepared { $0.body = body { $0.text = "{}" } })
        #expect(try post.exchange.method == "POST")
        #expect(try post.exchange.payload == .bytes(Array("{}".utf8)))
        #expect(post.step.stored?.awaitsAnswer == true)
        var filed = prepared { $0.body = body { $0.file = "/b" } }
        #expect(throws: TransferError.self) { try Stepper(filed) }
        filed.source = identity(5)
        #expect(try Stepper(filed).exchange.payload == .source(offset: 0, length: 5))
    }

    private func body(_ change: (inout RequestBody) -> Void) -> RequestBody {
        var body = RequestBody()
        change(&body)
        return body
    }

    @Test func longAnswersAreRefused() throws {
        var subject = try Stepper(prepared())
        #expect(subject.after(answer(200, ["Content-Length": "1001"])).failure?.error.code == .tooLarge)
        subject = try Stepper(prepared())
        var truncated = answer(200, body: "x")
        truncated.isBodyTruncated = true
        #expect(subject.after(truncated).failure?.error.code == .tooLarge)
        subject = try Stepper(prepared { $0.method = "HEAD" })
        #expect(subject.after(answer(200, ["Content-Length": "1001"])).result != nil)
    }

    /// RFC 9112 section 6.3: two parties could read two different bodies.
    @Test(arguments: [["5", "3"], ["3", "5"], ["3, 5"], ["99999999999999999999999"], ["+5"], ["5", "5"]])
    func aLengthThatIsInDoubtIsAnError(lengths: [String]) throws {
        var subject = try Stepper(prepared())
        var outcome = answer(200, body: "abcde")
        outcome.head?.headers = lengths.map { HeaderField("Content-Length", $0) }
        let verdict = try subject.exchange.judge.judge(#require(outcome.head))
        guard case .stop(let reason) = verdict else {
            #expect(lengths == ["5", "5"])
            return
        }
        outcome.end = .stopped(reason)
        #expect(lengths != ["5", "5"] && subject.after(outcome).failure?.error.code == .httpProtocol)
    }

    @Test func whatIsWrongInTheBodyIsMarked() throws {
        for (error, isMarked) in [
            (TransferError(.integrityLength, "x"), true), (TransferError(.networkLost, "x"), false),
            (TransferError(.httpProtocol, "x", retryable: true, details: [TransferError.coding: "gzip"]), true),
            (TransferError(.httpProtocol, "x", retryable: true), false),
        ] {
            var subject = try Stepper(prepared())
            var outcome = answer(200)
            outcome.end = .stopped(.failure(error, retryAfter: nil))
            #expect(subject.after(outcome).failure?.isOfBody == isMarked, "\(error)")
        }
    }

    @Test func aCutAnswerIsNoAnswer() throws {
        var cut = answer(200, body: "h")
        cut.end = .transport(code: 18, message: "")
        var subject = try Stepper(prepared())
        #expect(subject.after(cut).failure?.disposition == .transient(after: nil))
        subject = try Stepper(prepared { $0.method = "POST" })
        #expect(subject.after(cut).failure?.disposition == .permanent)
    }

    @Test func statusesCount() throws {
        for (status, isDone) in [(204, true), (304, true), (404, false), (500, false)] {
            var subject = try Stepper(prepared())
            #expect((subject.after(answer(status)).result != nil) == isDone)
        }
        var subject = try Stepper(prepared())
        let failure = subject.after(answer(503, ["Retry-After": "2"])).failure
        #expect(failure?.disposition == .transient(after: 2))
        #expect(failure?.error.message.hasSuffix(" It asked for a pause of 2 s (Retry-After).") == true)
    }

    @Test(arguments: 200...599, ["GET", "POST"])
    func anyStatusIsAnAnswerIfItIsWanted(status: Int, method: String) throws {
        var wanted = prepared { $0.method = method }
        wanted.acceptsAnyStatus = true
        var subject = try Stepper(wanted)
        let result = subject.after(answer(status, ["Retry-After": "2"], body: "why")).result
        #expect(result?.head?.status == status && result?.body == Array("why".utf8))
        subject = try Stepper(wanted)
        var cut = answer(status, body: "w")
        cut.end = .transport(code: 18, message: "")
        #expect(subject.after(cut).failure?.error.code == .networkLost)
    }

    /// The length belongs to the unchanged body.
    @Test func anAnswerWithoutABodyIsNotTooLong() throws {
        var subject = try Stepper(prepared())
        #expect(subject.after(answer(304, ["Content-Length": "1001"])).result != nil)
    }

    @Test func onlyIdempotentRequestsAreRepeated() throws {
        for (method, isRepeated) in [("GET", true), ("PUT", true), ("DELETE", true), ("POST", false), ("PATCH", false)]
        {
            var subject = try Stepper(prepared { $0.method = method })
            let failure = subject.after(lost(52)).failure
            #expect((failure?.disposition == .transient(after: nil)) == isRepeated)
        }
        var stored = UploadProgress(uploadProtocol: .post, source: nil, createdAt: reading().wall)
        stored.awaitsAnswer = true
        let killed = try Stepper(prepared(stored: stored) { $0.method = "POST" })
        #expect(killed.step.failure?.disposition == .permanent)
    }

    @Test func theCallersExpectationIsKept() throws {
        let exchange = try Stepper(prepared { $0.headers = [HeaderField("expect", "100-continue")] }).exchange
        #expect(exchange.expectsContinue)
        #expect(exchange.header("Expect") == nil)
    }

    @Test func theTypeOfTheBodyGoesWhereTheBodyGoes() throws {
        let exchange = try Stepper(
            prepared {
                $0.body = body { $0.text = "x" }
                $0.headers = [HeaderField("Content-Type", "a/b"), HeaderField("X-Key", "k")]
                $0.contentType = "c/d"
            }
        ).exchange
        #expect(exchange.ownHeaders.filter { $0.name == "Content-Type" } == [HeaderField("Content-Type", "c/d")])
        #expect(exchange.headers == [HeaderField("X-Key", "k")])
    }

    @Test func connectIsRefused() {
        #expect(throws: TransferError.self) { try Stepper(prepared { $0.method = "CONNECT" }) }
    }

    @Test func theKnownCodingsAreAskedFor() throws {
        let exchange = try Stepper(prepared()).exchange
        #expect(exchange.header("Accept-Encoding") == "gzip, deflate, br, zstd" && exchange.decodesBody)
        var poor = prepared()
        poor.codings = [.gzip]
        #expect(try Stepper(poor).exchange.header("Accept-Encoding") == "gzip")
        poor.codings = []
        #expect(try Stepper(poor).exchange.header("Accept-Encoding") == "identity")
        // A part of a coded body cannot be decoded.
        let part = try Stepper(prepared { $0.headers = [HeaderField("range", "bytes=5-")] }).exchange
        #expect(part.header("Accept-Encoding") == "identity" && part.decodesBody)
    }

    @Test func whoAsksForCodingsGetsThem() throws {
        let field = HeaderField("accept-encoding", "br")
        let exchange = try Stepper(prepared { $0.headers = [field] }).exchange
        #expect(!exchange.decodesBody && exchange.headers == [field] && exchange.ownHeaders.isEmpty)
    }

    @Test func anAnswerThatCannotBeDecodedIsNone() throws {
        let fault = TransferError(.httpProtocol, "Not of that coding.", retryable: true)
        for (method, isRepeated) in [("GET", true), ("POST", false)] {
            var outcome = answer(200, ["Content-Encoding": "gzip"], body: "x")
            outcome.dropBody(because: fault)
            var subject = try Stepper(prepared { $0.method = method })
            let failure = subject.after(outcome).failure
            #expect(failure?.error.code == .httpProtocol)
            #expect((failure?.disposition == .transient(after: nil)) == isRepeated)
        }
        var bomb = answer(200, ["Content-Encoding": "gzip"], body: "x")
        bomb.dropBody(because: TransferError(.httpProtocol, "A bomb.", retryable: false))
        var subject = try Stepper(prepared())
        #expect(subject.after(bomb).failure?.disposition == .permanent)
        // The status comes first.
        bomb = answer(404, ["Content-Encoding": "gzip"], body: "x")
        bomb.dropBody(because: fault)
        subject = try Stepper(prepared())
        #expect(subject.after(bomb).failure?.error.code == .httpStatus)
    }
}
