import Testing
import TransferModel

@testable import TransferCore

struct AutoUploadTests {
    private func asked(_ outcome: ExchangeOutcome) throws -> Stepper {
        var subject = try Stepper(uploadRequest("auto"))
        #expect(try subject.exchange.method == "OPTIONS")
        #expect(try subject.exchange.header("Tus-Resumable") == nil)
        subject.after(outcome)
        return subject
    }

    @Test func isWhatHappensWhereNothingIsSaid() throws {
        #expect(try Stepper(uploadRequest(nil)).exchange.method == "OPTIONS")
    }

    @Test func tusIsRecognised() throws {
        for fields: KeyValuePairs in [["Tus-Version": "1.0.0"], ["Tus-Resumable": "1.0.0"]] {
            var subject = try asked(answer(204, fields))
            #expect(try subject.exchange.header("Upload-Length") == "100")
            subject.after(answer(201, ["Location": "/files/1"]))
            #expect(subject.step.stored?.uploadProtocol == .tus)
            #expect(subject.strategy.upload?.resourceURL == "https://example.org/files/1")
        }
    }

    @Test func resumableIsRecognised() throws {
        var subject = try asked(answer(204, ["Upload-Limit": "max-append-size=30"]))
        #expect(try subject.exchange.header("Upload-Draft-Interop-Version") == "8")
        subject.after(answer(201, ["Location": "/files/1"]))
        #expect(try subject.exchange.payload == .source(offset: 0, length: 30))
    }

    @Test func limitsAreKnownBeforeAnythingIsSent() throws {
        #expect(try asked(answer(204, ["Upload-Limit": "max-size=99"])).step.failure?.error.code == .tooLarge)
        #expect(
            try asked(answer(204, ["Tus-Version": "1.0.0", "Tus-Max-Size": "99"])).step.failure?.error.code == .tooLarge
        )
    }

    @Test(arguments: [200, 204, 400, 401, 403, 404, 405, 501])
    func everythingElseIsPut(_ status: Int) throws {
        let subject = try asked(answer(status))
        #expect(try subject.exchange.method == "PUT")
        #expect(try subject.exchange.payload == .source(offset: 0, length: 100))
    }

    /// Another protocol would store the file elsewhere, so a server that cannot answer now is asked again later.
    @Test(arguments: [408, 425, 429, 500, 503])
    func whoCannotSayItNowIsAskedLater(_ status: Int) throws {
        let failure = try #require(try asked(answer(status, ["Retry-After": "7"])).step.failure)
        #expect(failure.disposition == .transient(after: 7) && failure.error.code == .httpStatus)
    }

    @Test(arguments: [
        ("https://example.org/", "https://example.org/fox.txt"),
        ("https://example.org/d/", "https://example.org/d/fox.txt"),
        ("https://example.org/d/?signed=1", "https://example.org/d/?signed=1"),
        ("https://example.org/d", "https://example.org/d"),
    ])
    func aFolderKeepsTheName(_ url: String, _ place: String) throws {
        var subject = try Stepper(uploadRequest("auto", url: url))
        #expect(try subject.exchange.url == url)
        subject.after(answer(405))
        #expect(try subject.exchange.url == place)
        // Services that speak an upload protocol name what they accept.
        var service = try Stepper(uploadRequest("auto", url: url))
        service.after(answer(204, ["Tus-Version": "1.0.0"]))
        #expect(try service.exchange.url == url)
    }

    @Test func aNamedFileIsCalledThatInItsFolder() throws {
        var subject = try Stepper(uploadRequest("auto", url: "https://example.org/d/") { $0.fileName = "a b" })
        subject.after(answer(404))
        #expect(try subject.exchange.url == "https://example.org/d/a%20b")
    }

    /// The answer to the first request is not known.
    @Test func aRequestThatMayNotBeRepeatedIsNotRepeatedInAFolder() throws {
        for url in ["https://example.org/d", "https://example.org/d/"] {
            var subject = try Stepper(uploadRequest("auto", url: url) { $0.method = "POST" })
            subject.after(answer(404))
            let stored = try #require(subject.step.stored)
            #expect(stored.awaitsAnswer)
            let next = try Stepper(uploadRequest("auto", url: url, stored: stored) { $0.method = "POST" })
            #expect(next.step.failure?.error.code == .networkLost, "\(url)")
        }
    }

    @Test func serversThatHangUpOnOptionsGetPut() throws {
        var subject = try asked(lost(52))
        #expect(try subject.exchange.method == "OPTIONS")
        subject.after(lost(52))
        #expect(try subject.exchange.method == "PUT")
        // One failure may be an accident.
        subject = try asked(lost(52))
        subject.after(answer(204, ["Tus-Version": "1.0.0"]))
        #expect(try subject.exchange.method == "POST")
    }

    @Test func troubleIsTriedAgain() throws {
        #expect(try asked(lost(7)).step.failure?.disposition == .transient(after: nil))
        #expect(try asked(answer(503, ["Retry-After": "4"])).step.failure?.disposition == .transient(after: 4))
    }

    @Test func goesOnAsItBegan() throws {
        let stored = begun(.tus, at: "https://example.org/files/1", offset: 5)
        #expect(try Stepper(uploadRequest("auto", stored: stored)).exchange.method == "HEAD")
    }
}
