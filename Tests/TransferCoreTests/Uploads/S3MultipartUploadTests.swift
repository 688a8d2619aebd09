import Testing
import TransferModel

@testable import TransferCore

struct S3MultipartUploadTests {
    private let complete = "https://s3.example.org/b/k?uploadId=1"

    private func prepared(stored: UploadProgress? = nil, partSize: Int64 = 40, parts: Int = 3) -> StrategyRequest {
        uploadRequest("s3Multipart", stored: stored) {
            $0.s3 = S3Upload(
                partURLs: (1...parts).map { "https://s3.example.org/b/k?partNumber=\($0)" },
                partSize: ByteCount(partSize), completeURL: complete)
        }
    }

    private func completing(_ etags: [Int: String] = [1: "\"a\"", 2: "\"b\"", 3: "\"c\""], sent: Bool = false) throws
        -> Stepper
    {
        var stored = begun(.s3Multipart)
        stored.partETags = etags
        stored.awaitsAnswer = sent
        return try Stepper(prepared(stored: stored))
    }

    @Test func sendsPartsThenCompletes() throws {
        var subject = try Stepper(prepared())
        for (index, length) in [40, 40, 20].enumerated() {
            let part = try subject.exchange
            #expect(part.method == "PUT")
            #expect(part.url == "https://s3.example.org/b/k?partNumber=\(index + 1)")
            #expect(part.payload == .source(offset: ByteCount(Int64(index) * 40), length: ByteCount(Int64(length))))
            subject.after(answer(200, ["ETag": "\"e\(index + 1)\""]))
        }
        #expect(subject.step.stored?.partETags == [1: "\"e1\"", 2: "\"e2\"", 3: "\"e3\""])
        #expect(subject.step.stored?.awaitsAnswer == true)
        #expect(subject.step.stored?.offset == 100)
        let completion = try subject.exchange
        #expect(completion.method == "POST")
        #expect(completion.url == complete)
        guard case .bytes(let xml) = completion.payload else {
            Issue.record("no document")
            return
        }
        let text = String(decoding: xml, as: UTF8.self)
        #expect(text.contains("<Part><PartNumber>1</PartNumber><ETag>&quot;e1&quot;</ETag></Part><Part><PartNumber>2<"))
        #expect(subject.after(answer(200, body: "<CompleteMultipartUploadResult/>")).result?.total == 100)
    }

    @Test func onlyMissingPartsAreSent() throws {
        var stored = begun(.s3Multipart)
        stored.partETags = [1: "\"a\"", 3: "\"c\""]
        var subject = try Stepper(prepared(stored: stored))
        #expect(try subject.exchange.payload == .source(offset: 40, length: 40))
        subject.after(answer(200, ["ETag": "\"b\""]))
        #expect(try subject.exchange.url == complete)
    }

    @Test func aPartWithoutETagEndsIt() throws {
        var subject = try Stepper(prepared())
        #expect(subject.after(answer(200)).failure?.error.code == .httpProtocol)
    }

    @Test func anExpiredURLIsSaid() throws {
        var subject = try Stepper(prepared())
        subject.after(
            answer(
                403,
                body:
                    "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
            ))
        #expect(subject.step.failure?.disposition == .permanent)
        #expect(subject.step.failure?.error.message.contains("Request has expired") == true)
        #expect(subject.step.failure?.error.details["s3"] == "AccessDenied")
    }

    @Test(arguments: [("InternalError", true), ("SlowDown", true), ("AccessDenied", false), ("EntityTooSmall", false)])
    func anErrorUnderA200IsAnError(_ code: String, _ isTransient: Bool) throws {
        var subject = try completing()
        let body =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n  <Error><Code>\(code)</Code><Message>m</Message></Error>"
        subject.after(answer(200, body: body))
        #expect(subject.step.failure?.disposition == (isTransient ? .transient(after: nil) : .permanent))
        #expect(subject.step.failure?.error.details["s3"] == .string(code))
        #expect(subject.strategy.upload?.partETags.count == 3)
    }

    @Test func a200WhoseBodyBreaksIsNoSuccess() throws {
        var subject = try completing()
        var cut = answer(200, body: "<?xml")
        cut.end = .transport(code: 56, message: "reset")
        #expect(subject.after(cut).failure?.disposition == .transient(after: nil))
        #expect(subject.strategy.upload?.awaitsAnswer == true)
    }

    /// A 400 may be a RequestTimeout or an AccessDenied.
    @Test(arguments: ["", "<?xml", "<Error><Code>Inval", "<Error><Code>AccessDenied</Code><Mess"])
    func aRefusalThatBreaksOffIsAskedForAgain(_ body: String) throws {
        var cut = answer(400, body: body)
        cut.end = .transport(code: 18, message: "cut")
        let isTold = body.contains("</Code>")
        for var subject in [try Stepper(prepared()), try completing()] {
            let disposition = subject.after(cut).failure?.disposition
            #expect(disposition == (isTold ? .permanent : .transient(after: nil)))
        }
    }

    @Test func partsTheStoreLostAreSentAgainOnce() throws {
        let body = "<Error><Code>InvalidPart</Code></Error>"
        var subject = try completing()
        subject.after(answer(400, body: body))
        #expect(subject.step.restartCause != nil)
        #expect(try subject.exchange.payload == .source(offset: 0, length: 40))
        for _ in 0..<3 { subject.after(answer(200, ["ETag": "\"n\""])) }
        #expect(subject.after(answer(400, body: body)).failure?.disposition == .permanent)
        // Another attempt does not send everything again.
        subject = try Stepper(prepared(stored: subject.strategy.upload))
        #expect(try subject.exchange.method == "POST")
        #expect(subject.after(answer(400, body: body)).failure?.disposition == .permanent)
    }

    @Test func aPartIsNotThereBeforeAllOfItWasSent() throws {
        var subject = try Stepper(prepared())
        var early = answer(200, ["ETag": "\"n\""], sent: 5)
        early.isSentWhole = false
        #expect(subject.after(early).failure?.disposition == .transient(after: nil))
        #expect(subject.strategy.upload?.partETags.isEmpty == true)
    }

    @Test func aStoreThatDoesNotKnowWhatItDidIsExplained() throws {
        var subject = try completing()
        subject.after(answer(500))
        #expect(subject.step.failure?.disposition == .transient(after: nil))
        subject = try Stepper(prepared(stored: subject.strategy.upload))
        let gone = subject.after(answer(404, body: "<Error><Code>NoSuchUpload</Code></Error>")).failure
        #expect(gone?.error.message.contains("most likely") == true)
    }

    @Test func aCompletionWhoseAnswerWasLostIsExplained() throws {
        let body = "<Error><Code>NoSuchUpload</Code></Error>"
        var subject = try completing(sent: true)
        #expect(subject.after(answer(404, body: body)).failure?.error.message.contains("most likely") == true)
        subject = try completing()
        #expect(subject.after(answer(404, body: body)).failure?.error.details["s3"] == "NoSuchUpload")
    }

    /// Only an answer about the completion itself tells what became of it.
    @Test(arguments: [403, 409, 429, 503])
    func anotherAnswerDoesNotCloseTheQuestion(_ status: Int) throws {
        var subject = try completing(sent: true)
        subject.after(answer(status))
        try expectQuestionIsOpen(subject)
    }

    /// With the status 200 the store has already started to act.
    @Test(arguments: ["InternalError", "SlowDown"])
    func aFailureUnderA200LeavesTheQuestionOpen(_ code: String) throws {
        var subject = try completing()
        subject.after(answer(200, body: "<Error><Code>\(code)</Code></Error>"))
        try expectQuestionIsOpen(subject)
    }

    private func expectQuestionIsOpen(_ subject: Stepper) throws {
        var next = try Stepper(prepared(stored: subject.strategy.upload))
        let gone = next.after(answer(404, body: "<Error><Code>NoSuchUpload</Code></Error>")).failure
        #expect(gone?.error.message.contains("most likely") == true)
        // The failure that a client's retry reports does not settle it either.
        #expect(next.strategy.upload?.awaitsAnswer == true)
    }

    @Test func aCompletionThatNeverLeftIsNoQuestion() throws {
        var refused = ExchangeOutcome(end: .transport(code: 7, message: "refused"))
        refused.wasSent = false
        var subject = try completing()
        subject.after(refused)
        #expect(subject.strategy.upload?.awaitsAnswer == false)
        subject = try completing(sent: true)
        subject.after(refused)
        #expect(subject.strategy.upload?.awaitsAnswer == true)
    }

    @Test func thePartsMustFitTheFile() throws {
        #expect(throws: TransferError.self) { try Stepper(prepared(parts: 2)) }
        #expect(throws: Never.self) { try Stepper(prepared(parts: 5)) }
    }

    @Test func presignedURLsOfAnotherOriginGetNoCredentials() throws {
        var request = prepared()
        request.network.username = "u"
        request.network.password = "p"
        let subject = try Stepper(request)
        #expect(try subject.exchange.network.username == nil)
    }
}
