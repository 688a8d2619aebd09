import Testing
import TransferModel

@testable import TransferCore

struct AnyStatusUploadTests {
    private func stepper(_ name: String?, stored: UploadProgress? = nil) throws -> Stepper {
        var request = uploadRequest(name, stored: stored)
        request.acceptsAnyStatus = true
        return try Stepper(request)
    }

    @Test(arguments: ["put", "post", "multipart"], 300...599)
    func everyStatusCompletesAPlainUpload(_ name: String, status: Int) throws {
        var subject = try stepper(name)
        let result = subject.after(answer(status, ["Retry-After": "9"], body: "why", sent: 40)).result
        #expect(result?.head?.status == status && result?.body == Array("why".utf8))
        #expect(result?.total == 40, "what was sent is all that the server may have")
        #expect(subject.strategy.upload == nil)
    }

    @Test func aConnectionThatBreaksIsNoAnswer() throws {
        var subject = try stepper("put")
        #expect(subject.after(lost()).failure?.error.code == .networkLost)
        subject = try stepper("put")
        // The rest of the answer does not matter once its status is known.
        var cut = answer(413, sent: 7)
        cut.end = .transport(code: 55, message: "broken pipe")
        #expect(subject.after(cut).result?.total == 7)
    }

    /// A success counts only for the complete file.
    @Test func aSuccessBeforeTheEndIsNoSuccess() throws {
        var subject = try stepper("put")
        var early = answer(200, sent: 7)
        early.isSentWhole = false
        #expect(subject.after(early).failure?.error.code == .networkLost)
    }

    @Test func aRefusedBeginningAndALockAreAnswers() throws {
        var subject = try stepper("contentRange")
        #expect(subject.after(answer(403)).result?.head?.status == 403)
        subject = try stepper("tus", stored: begun(.tus, at: "https://example.org/files/1", offset: 30))
        #expect(subject.after(answer(423)).result?.head?.status == 423)
    }

    /// If a protocol can recover from an answer, it continues.
    @Test func whatTheProtocolKnowsHowToMendIsNoAnswer() throws {
        var subject = try stepper("contentRange", stored: begun(.contentRange, at: "https://example.org/s"))
        #expect(subject.after(answer(404)).restartCause != nil)
        #expect(subject.after(answer(503)).result?.head?.status == 503)
    }

    /// The OPTIONS request for the server's protocol is not the request of the task.
    @Test func aServerThatCannotSayWhatItKnowsIsAskedLater() throws {
        var subject = try stepper(nil)
        #expect(try subject.exchange.method == "OPTIONS")
        #expect(subject.after(answer(503)).failure?.error.code == .httpStatus)
        subject = try stepper(nil)
        subject.after(answer(404))
        #expect(try subject.exchange.method == "PUT")
        #expect(subject.after(answer(404)).result?.head?.status == 404)
    }
}
