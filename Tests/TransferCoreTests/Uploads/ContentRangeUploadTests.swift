import Testing
import TransferModel

@testable import TransferCore

struct ContentRangeUploadTests {
    private let session = "https://example.org/session/1"
    private let large: Int64 = 20 << 20

    private func sending(size: Int64 = 100, _ change: (inout TaskSpec) -> Void = { _ in }) throws -> Stepper {
        var subject = try Stepper(uploadRequest("contentRange", size: size, change: change))
        subject.after(answer(200, ["Location": session]))
        if size > 0 { subject.after(answer(308)) }
        return subject
    }

    /// An upload that an earlier attempt started.
    private func continued(at offset: Int64 = 0) throws -> Stepper {
        var stored = begun(.contentRange, at: session, offset: offset)
        stored.knowsRanges = true
        return try Stepper(uploadRequest("contentRange", stored: stored))
    }

    @Test func opensASession() throws {
        var subject = try Stepper(uploadRequest("contentRange") { $0.contentType = "image/png" })
        let creation = try subject.exchange
        #expect(creation.method == "POST")
        #expect(creation.header("X-Upload-Content-Type") == "image/png")
        #expect(creation.header("X-Upload-Content-Length") == "100")
        subject.after(answer(200, ["Location": session]))
        #expect(subject.step.stored?.resourceURL == session)
        #expect(try subject.exchange.header("Content-Range") == "bytes */100")
        #expect(try subject.exchange.payload == .bytes([]))
        subject.after(answer(308))
        #expect(subject.step.stored?.knowsRanges == true)
        let chunk = try subject.exchange
        #expect(chunk.method == "PUT")
        #expect(chunk.url == session)
        #expect(chunk.header("Content-Range") == "bytes 0-99/100")
        #expect(chunk.finalStatuses == [308])
    }

    @Test func chunksAreMultiplesOf256KiB() throws {
        var subject = try sending(size: large)
        var offset: Int64 = 0
        while let exchange = subject.step.exchange {
            let length = exchange.payload.sourceLength.rawValue
            #expect(exchange.payload.sourceOffset == ByteCount(offset))
            offset += length
            let isLast = offset == large
            #expect(isLast || length % (256 << 10) == 0)
            #expect(exchange.header("Content-Range") == "bytes \(offset - length)-\(offset - 1)/\(large)")
            subject.after(isLast ? answer(200, body: "{}") : answer(308, ["Range": "bytes=0-\(offset - 1)"]))
            #expect(isLast || subject.step.stored?.offset == ByteCount(offset))
        }
        #expect(subject.step.result?.total == ByteCount(large))
        #expect(subject.step.result?.body == Array("{}".utf8))
    }

    @Test func noRangeMeansNothingIsHeld() throws {
        var subject = try sending()
        subject.after(answer(308))
        #expect(try subject.exchange.payload == .source(offset: 0, length: 100))
    }

    @Test func aNewSessionIsEmptyWhateverItSays() throws {
        var subject = try Stepper(uploadRequest("contentRange"))
        subject.after(answer(200, ["Location": session]))
        subject.after(answer(308, ["Range": "bytes=0-0"]))
        #expect(try subject.exchange.payload == .source(offset: 0, length: 100))
        subject.after(answer(308, ["Range": "bytes=0-0"]))
        #expect(try subject.exchange.payload == .source(offset: 1, length: 99))
        // The caller's session may have been used before.
        subject = try Stepper(uploadRequest("contentRange", url: "https://example.org/up?upload_id=7"))
        subject.after(answer(308, ["Range": "bytes=0-0"]))
        #expect(try subject.exchange.payload == .source(offset: 1, length: 99))
    }

    @Test(arguments: ["bytes=0-41", "0-41"])
    func continuesAfterWhatIsHeld(_ range: String) throws {
        var subject = try continued(at: 10)
        let query = try subject.exchange
        #expect(query.method == "PUT")
        #expect(query.header("Content-Range") == "bytes */100")
        #expect(query.payload == .bytes([]))
        subject.after(answer(308, ["Range": range]))
        #expect(subject.step.stored?.offset == 42)
        #expect(try subject.exchange.header("Content-Range") == "bytes 42-99/100")
    }

    @Test func aFinishedUploadIsFoundOut() throws {
        var subject = try continued()
        #expect(subject.after(answer(200, body: "{}")).result?.body == Array("{}".utf8))
    }

    @Test func aServerThatKnowsNoRangesIsFoundOutBeforeAByte() throws {
        for prepared in [
            uploadRequest("contentRange"), uploadRequest("contentRange", url: "https://example.org/up?upload_id=7"),
            uploadRequest("contentRange", stored: begun(.contentRange, at: session)),
        ] {
            var subject = try Stepper(prepared)
            if try subject.exchange.method == "POST" { subject.after(answer(200, ["Location": session])) }
            #expect(subject.after(answer(200)).failure?.error.code == .httpProtocol)
        }
    }

    @Test(arguments: [409, 416])
    func anotherRangeThatIsWantedIsAskedFor(_ status: Int) throws {
        var subject = try sending()
        subject.after(answer(status))
        #expect(try subject.exchange.header("Content-Range") == "bytes */100")
        subject.after(answer(308, ["Range": "bytes=0-59"]))
        #expect(try subject.exchange.header("Content-Range") == "bytes 60-99/100")
        for _ in 0..<9 where subject.step.exchange != nil {
            let isQuestion = try subject.exchange.payload.sourceLength == 0
            subject.after(isQuestion ? answer(308, ["Range": "bytes=0-59"]) : answer(status))
        }
        #expect(subject.step.failure?.disposition == .transient(after: nil))
        // It is not a valid answer to the offset request itself.
        subject = try continued()
        #expect(subject.after(answer(status)).failure?.disposition == .permanent)
    }

    @Test func chunksThatAreTooLargeBecomeSmaller() throws {
        var subject = try sending(size: large)
        var lengths: [Int64] = []
        while subject.step.exchange != nil {
            lengths.append(try subject.exchange.payload.sourceLength.rawValue >> 10)
            subject.after(answer(413))
            guard subject.step.exchange != nil else { break }
            subject.after(answer(308))
        }
        #expect(lengths == [8192, 4096, 2048, 1024, 512, 256])
        #expect(subject.step.failure?.error.details["status"] == 413)
        #expect(subject.strategy.upload?.longestAppend == nil)
    }

    @Test func moreThanWasSentIsNotBelieved() throws {
        var subject = try sending(size: large)
        subject.after(answer(308, ["Range": "bytes=0-8388608"]))
        #expect(subject.step.failure?.error.code == .httpProtocol)
        subject = try sending()
        var early = answer(200, sent: 60)
        early.isSentWhole = false
        #expect(subject.after(early).failure?.error.code == .httpProtocol)
        subject = try sending()
        early = answer(308, ["Range": "bytes=0-59"], sent: 60)
        early.isSentWhole = false
        subject.after(early)
        #expect(try subject.exchange.payload == .source(offset: 60, length: 40))
    }

    @Test(arguments: [
        "bytes=5-9", "bytes=0-x", "bytes=0-100", "bytes=0-9999999999999999999", "bytes=0-9223372036854775807",
    ])
    func impossibleRangesEndIt(_ range: String) throws {
        var subject = try sending()
        subject.after(answer(308, ["Range": range]))
        #expect(subject.step.failure?.error.code == .httpProtocol)
        #expect(subject.step.failure?.disposition == .permanent)
    }

    @Test func completeTooEarlyIsNoSuccess() throws {
        var subject = try sending(size: large)
        #expect(subject.after(answer(200)).failure?.error.code == .httpProtocol)
    }

    @Test func everythingHeldButNotCompleteIsAskedAbout() throws {
        var subject = try sending()
        subject.after(answer(308, ["Range": "bytes=0-99"]))
        #expect(try subject.exchange.header("Content-Range") == "bytes */100")
        for _ in 0..<5 where subject.step.exchange != nil { subject.after(answer(308, ["Range": "bytes=0-99"])) }
        #expect(subject.step.failure?.disposition == .transient(after: nil))
    }

    @Test(arguments: [404, 410])
    func aLostSessionIsOpenedAnew(_ status: Int) throws {
        var subject = try sending()
        subject.after(answer(status))
        #expect(subject.step.restartCause != nil)
        #expect(try subject.exchange.method == "POST")
    }

    @Test func aSessionOfTheCallerIsAskedAndNeverReplaced() throws {
        for prepared in [
            uploadRequest("contentRange", url: "https://example.org/up?upload_id=7"),
            uploadRequest("contentRange") { $0.method = "PUT" },
        ] {
            var subject = try Stepper(prepared)
            #expect(subject.step.stored?.resourceURL == (try subject.exchange.url))
            #expect(try subject.exchange.header("Content-Range") == "bytes */100")
            #expect(subject.after(answer(410)).failure?.disposition == .permanent)
        }
    }

    @Test func anEmptyFileIsStored() throws {
        var subject = try sending(size: 0)
        #expect(try subject.exchange.header("Content-Range") == "bytes */0")
        #expect(subject.after(answer(200)).result?.total == 0)
    }

    @Test func a503IsAskedAboutLater() throws {
        var subject = try sending()
        #expect(subject.after(answer(503, ["Retry-After": "9"])).failure?.disposition == .transient(after: 9))
        #expect(subject.strategy.upload?.resourceURL == session)
    }

    @Test func cancellingDeletesTheSession() throws {
        let prepared = uploadRequest("contentRange", stored: begun(.contentRange, at: session))
        #expect(StrategyRegistry.cancellation(for: prepared)?.method == "DELETE")
        #expect(StrategyRegistry.cancellation(for: prepared)?.url == session)
    }
}
