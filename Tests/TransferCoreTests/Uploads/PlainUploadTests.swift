import Testing
import TransferModel

@testable import TransferCore

struct PlainUploadTests {
    private let whole: Int64 = 100

    @Test func putSendsTheFileAsItIs() throws {
        var subject = try Stepper(uploadRequest("put") { $0.headers = [HeaderField("Content-Type", "text/plain")] })
        let exchange = try subject.exchange
        #expect(exchange.method == "PUT")
        #expect(exchange.payload == .source(offset: 0, length: 100))
        #expect(exchange.header("Content-Type") == "text/plain")
        #expect(exchange.expectsContinue == false)
        #expect(exchange.isReplayable)
        let result = subject.after(answer(201, ["Location": "/x"], body: "made")).result
        #expect(result?.head?.status == 201)
        #expect(result?.body == Array("made".utf8))
    }

    @Test func presignedPutsCarryNothingUnasked() throws {
        #expect(try Stepper(uploadRequest("put")).exchange.header("Content-Type") == nil)
    }

    @Test func postHasATypeAndAMethod() throws {
        let post = try Stepper(uploadRequest("post")).exchange
        #expect(post.method == "POST")
        #expect(post.header("Content-Type") == "application/octet-stream")
        #expect(try Stepper(uploadRequest("post") { $0.method = "PATCH" }).exchange.method == "PATCH")
    }

    @Test func theSpecsTypeReplacesTheHeaders() throws {
        let exchange = try Stepper(
            uploadRequest("put") {
                $0.contentType = "a/b"
                $0.headers = [HeaderField("content-type", "c/d"), HeaderField("X", "1"), HeaderField("X", "2")]
            }
        ).exchange
        #expect(exchange.allHeaders.filter { $0.name.lowercased() == "content-type" }.map(\.value) == ["a/b"])
        #expect(exchange.headers.filter { $0.name == "X" }.map(\.value) == ["1", "2"])
    }

    // MARK: Expect

    @Test(arguments: ["put", "post", "multipart"])
    func theCallersExpectationIsKept(_ name: String) throws {
        let asked = try Stepper(uploadRequest(name) { $0.headers = [HeaderField("Expect", "100-Continue")] }).exchange
        #expect(asked.expectsContinue)
        #expect(asked.header("Expect") == nil)
    }

    @Test(arguments: [401, 413])
    func aRefusalBeforeTheBodyIsFinal(_ status: Int) throws {
        var subject = try Stepper(uploadRequest("put", size: 1 << 20))
        var refused = answer(status)
        refused.continueRefused = true
        let failure = subject.after(refused).failure
        #expect(failure?.disposition == .permanent)
        #expect(failure?.error.code == (status == 401 ? .authRequired : .httpStatus))
    }

    // MARK: Repeating

    @Test(arguments: [500, 502, 503, 504])
    func putIsRepeatedFromTheBeginning(_ status: Int) throws {
        var subject = try Stepper(uploadRequest("put"))
        let failure = subject.after(answer(status, sent: 100)).failure
        #expect(failure?.disposition == .transient(after: nil))
        #expect(failure?.progressed == false)
        #expect(subject.strategy.upload == nil)
    }

    @Test(arguments: ["post", "multipart"])
    func whatMayHaveBeenActedOnIsNotRepeated(_ name: String) throws {
        var subject = try Stepper(uploadRequest(name))
        let length = try #require(try subject.exchange.payload.length)
        #expect(subject.after(lost(sent: length.rawValue)).failure?.disposition == .permanent)
        #expect(subject.strategy.upload == nil)
        subject = try Stepper(uploadRequest(name))
        #expect(subject.after(answer(500, sent: length.rawValue)).failure?.disposition == .permanent)
    }

    @Test(arguments: ["post", "multipart"])
    func whatCannotHaveBeenActedOnIsRepeated(_ name: String) throws {
        for outcome in [lost(7), lost(56, sent: 50), answer(503), answer(429), answer(408)] {
            var subject = try Stepper(uploadRequest(name))
            #expect(subject.after(outcome).failure?.disposition == .transient(after: nil))
            #expect(subject.strategy.upload == nil)
        }
    }

    @Test func anAbortBeforeTheEndLeavesNoQuestion() throws {
        for (sent, isOpen) in [(99, false), (100, true)] as [(Int64, Bool)] {
            var subject = try Stepper(uploadRequest("post"))
            #expect(subject.step.stored?.awaitsAnswer == true)
            var aborted = lost(sent: sent)
            aborted.end = .aborted
            subject.after(aborted)
            #expect((subject.strategy.upload?.awaitsAnswer ?? false) == isOpen)
        }
    }

    @Test func aKilledPostIsNotSentTwiceUnnoticed() throws {
        var stored = begun(.post)
        stored.awaitsAnswer = true
        let subject = try Stepper(uploadRequest("post", stored: stored))
        #expect(subject.step.failure?.disposition == .permanent)
        #expect(subject.step.failure?.error.message.contains("not known") == true)
        // A retry by the user starts over.
        #expect(subject.strategy.upload == nil)
    }

    @Test func aPutStoresNothing() throws {
        let subject = try Stepper(uploadRequest("put"))
        #expect(subject.step.stored == nil)
        #expect(subject.step.exchange != nil)
    }

    @Test func digestsGoAlongOnRequest() throws {
        let put = try Stepper(uploadRequest("put") { $0.uploadChecksum = .sha512 }).exchange
        #expect(
            put.digests == [PayloadDigest(.representation, .sha512)])
        let form = try Stepper(uploadRequest("multipart") { $0.uploadChecksum = .sha256 }).exchange
        #expect(form.digests.map(\.kind) == [.content])
    }
}
