import Testing
import TransferModel

@testable import TransferCore

struct ResumableUploadTests {
    private let place = "https://example.org/files/1"

    private func appending(size: Int64 = 100, _ change: (inout TaskSpec) -> Void = { _ in }) throws -> Stepper {
        var subject = try Stepper(uploadRequest("resumable", size: size, change: change))
        subject.after(answer(201, ["Location": "/files/1"]))
        return subject
    }

    private func continued(_ version: Int = 8) throws -> Stepper {
        var stored = begun(.resumable, at: place, offset: 40)
        stored.interopVersion = version
        return try Stepper(uploadRequest("resumable", stored: stored))
    }

    @Test(arguments: [
        (3, "Upload-Incomplete", "?1", "?0"), (5, "Upload-Complete", "?0", "?1"), (6, "Upload-Complete", "?0", "?1"),
        (8, "Upload-Complete", "?0", "?1"),
    ])
    func everyVersionSpeaksItsOwn(_ version: Int, _ name: String, _ open: String, _ last: String) throws {
        var subject = try Stepper(uploadRequest("resumable") { $0.interopVersion = version })
        let creation = try subject.exchange
        #expect(creation.method == "POST")
        #expect(creation.payload == .bytes([]))
        #expect(creation.header("Upload-Draft-Interop-Version") == "\(version)")
        #expect(creation.header(name) == open)
        #expect(creation.header("Upload-Length") == (version >= 6 ? "100" : nil))
        subject.after(answer(201, ["Location": "/files/1"]))
        #expect(subject.step.stored?.resourceURL == place)
        #expect(subject.step.stored?.interopVersion == version)
        let append = try subject.exchange
        #expect(append.method == "PATCH")
        #expect(append.header("Content-Type") == "application/partial-upload")
        #expect(append.header("Upload-Offset") == "0")
        #expect(append.header(name) == last)
        #expect(append.header("Upload-Draft-Interop-Version") == "\(version)")
    }

    @Test func aBegunUploadKeepsItsVersion() throws {
        #expect(try continued(6).exchange.header("Upload-Draft-Interop-Version") == "6")
    }

    @Test func appendsAsMuchAsTheServerTakes() throws {
        var subject = try Stepper(uploadRequest("resumable"))
        subject.after(answer(201, ["Location": "/files/1", "Upload-Limit": "max-size=1000, max-append-size=60;q=1"]))
        #expect(try subject.exchange.payload == .source(offset: 0, length: 60))
        #expect(try subject.exchange.header("Upload-Complete") == "?0")
        subject.after(answer(204, ["Upload-Offset": "60", "Upload-Complete": "?0"]))
        #expect(subject.step.stored?.offset == 60)
        #expect(try subject.exchange.payload == .source(offset: 60, length: 40))
        #expect(try subject.exchange.header("Upload-Complete") == "?1")
        #expect(subject.after(answer(200, ["Upload-Complete": "?1"], body: "ok")).result?.body == Array("ok".utf8))
    }

    @Test func tooLargeForTheServerIsSaidAtOnce() throws {
        var subject = try Stepper(uploadRequest("resumable"))
        subject.after(answer(201, ["Location": "/files/1", "Upload-Limit": "max-size=99"]))
        #expect(subject.step.failure?.error.code == .tooLarge)
    }

    @Test func anEmptyFileIsCompletedByAnEmptyAppend() throws {
        let subject = try appending(size: 0)
        #expect(try subject.exchange.payload == .bytes([]))
        #expect(try subject.exchange.header("Upload-Complete") == "?1")
    }

    // MARK: The target's answer

    @Test(arguments: [400, 403, 422, 500, 503])
    func completeEndsItWhateverTheStatus(_ status: Int) throws {
        var subject = try appending()
        subject.after(answer(status, ["Upload-Complete": "?1", "Retry-After": "3"]))
        #expect(subject.step.failure?.disposition == .permanent)
        #expect(subject.step.failure?.error.details["status"] == .integer(Int64(status)))
    }

    @Test func version3SaysItTheOtherWayRound() throws {
        var subject = try appending { $0.interopVersion = 3 }
        #expect(subject.after(answer(503, ["Upload-Incomplete": "?0"])).failure?.disposition == .permanent)
        subject = try appending { $0.interopVersion = 3 }
        #expect(subject.after(answer(201, ["Upload-Incomplete": "?0"])).result != nil)
    }

    @Test func completeBeforeAByteCameIsNoSuccess() throws {
        var subject = try Stepper(uploadRequest("resumable"))
        subject.after(answer(200, ["Upload-Complete": "?1"]))
        #expect(subject.step.failure?.error.code == .httpProtocol)
        subject = try Stepper(uploadRequest("resumable"))
        #expect(subject.after(answer(500, ["Upload-Complete": "?1"])).failure?.disposition == .permanent)
    }

    @Test func a5xxIsAskedAboutLater() throws {
        var subject = try appending()
        #expect(subject.after(answer(500)).failure?.disposition == .transient(after: nil))
        #expect(subject.strategy.upload?.resourceURL == place)
    }

    @Test(arguments: [400, 403, 415, 422])
    func other4xxEndIt(_ status: Int) throws {
        var subject = try appending()
        #expect(subject.after(answer(status)).failure?.disposition == .permanent)
    }

    // MARK: Offsets

    @Test func aConflictCarriesTheRightOffset() throws {
        var subject = try appending()
        subject.after(answer(409, ["Upload-Offset": "25"]))
        #expect(try subject.exchange.method == "PATCH")
        #expect(try subject.exchange.payload == .source(offset: 25, length: 75))
        subject.after(answer(409, body: #"{"type":"about:blank","expected-offset":50,"provided-offset":25}"#))
        #expect(try subject.exchange.payload == .source(offset: 50, length: 50))
        subject.after(answer(409, body: "no json"))
        #expect(try subject.exchange.method == "HEAD")
    }

    @Test func endlessConflictsEndTheAttempt() throws {
        var subject = try appending()
        for _ in 0..<8 where subject.step.exchange != nil { subject.after(answer(409, ["Upload-Offset": "0"])) }
        #expect(subject.step.failure?.disposition == .transient(after: nil))
    }

    @Test func lessThanWasSentIsContinued() throws {
        for fields: KeyValuePairs in [
            ["Upload-Offset": "30", "Upload-Complete": "?0"], ["Upload-Offset": "30"],
        ] {
            var subject = try appending()
            subject.after(answer(204, fields, sent: 100))
            #expect(try subject.exchange.payload == .source(offset: 30, length: 70))
        }
    }

    @Test func moreThanThereIsEndsIt() throws {
        var subject = try appending()
        #expect(
            subject.after(answer(204, ["Upload-Offset": "101", "Upload-Complete": "?0"])).failure?.disposition
                == .permanent)
    }

    @Test func continuesWhereTheServerIs() throws {
        for offset in [10, 40, 99] {
            var subject = try continued()
            #expect(try subject.exchange.method == "HEAD")
            subject.after(answer(204, ["Upload-Offset": "\(offset)", "Upload-Complete": "?0", "Upload-Length": "100"]))
            #expect(subject.step.stored?.offset == ByteCount(Int64(offset)))
            #expect(try subject.exchange.header("Upload-Offset") == "\(offset)")
        }
    }

    @Test func everythingThereButNotCompleteIsCompleted() throws {
        var subject = try continued()
        subject.after(answer(204, ["Upload-Offset": "100", "Upload-Complete": "?0"]))
        #expect(try subject.exchange.payload == .bytes([]))
        #expect(try subject.exchange.header("Upload-Complete") == "?1")
    }

    @Test func aCompleteUploadWhoseAnswerWasLostIsDone() throws {
        var subject = try continued()
        #expect(subject.after(answer(204, ["Upload-Offset": "100", "Upload-Complete": "?1"])).result?.total == 100)
        subject = try continued()
        #expect(
            subject.after(answer(204, ["Upload-Offset": "70", "Upload-Complete": "?1"])).failure?.error.code
                == .httpProtocol)
    }

    @Test func anotherLengthIsAnotherFile() throws {
        var subject = try continued()
        subject.after(answer(204, ["Upload-Offset": "10", "Upload-Complete": "?0", "Upload-Length": "90"]))
        #expect(subject.step.failure?.error.code == .httpProtocol)
    }

    @Test func aSmallerLimitShrinksTheAppend() throws {
        var subject = try appending()
        subject.after(answer(413, ["Upload-Limit": "max-append-size=10"]))
        #expect(try subject.exchange.method == "HEAD")
        subject.after(answer(204, ["Upload-Offset": "0", "Upload-Complete": "?0"]))
        #expect(try subject.exchange.payload == .source(offset: 0, length: 10))
        subject = try appending()
        #expect(subject.after(answer(413)).failure?.disposition == .permanent)
    }

    @Test func anAppendThatIsTooLargeBecomesSmaller() throws {
        var subject = try appending(size: 1 << 20)
        for length in [512, 256, 128, 64] as [Int64] {
            subject.after(answer(413))
            // Later limits of the server do not make the pieces larger again.
            subject.after(
                answer(204, ["Upload-Offset": "0", "Upload-Complete": "?0", "Upload-Limit": "max-append-size=9999999"]))
            #expect(try subject.exchange.payload.sourceLength == .kibibytes(length))
            #expect(try subject.exchange.header("Upload-Complete") == "?0")
        }
        #expect(subject.after(answer(413)).failure?.error.details["status"] == 413)
    }

    @Test func aLockedUploadWaits() throws {
        var subject = try appending()
        #expect(subject.after(answer(423, ["Retry-After": "7"])).failure?.disposition == .transient(after: 7))
        subject = try continued()
        #expect(subject.after(answer(423)).failure?.disposition == .transient(after: nil))
    }

    @Test(arguments: [["Upload-Offset": "99"], ["Upload-Offset": "101"], ["Upload-Offset": "0"]])
    func completeAtAnotherOffsetIsNoSuccess(_ fields: [String: String]) throws {
        for optimistically in [true, false] {
            var subject = optimistically ? try optimistic() : try appending()
            var outcome = answer(200, ["Upload-Complete": "?1"])
            outcome.head?.headers += fields.map { HeaderField($0.key, $0.value) }
            #expect(subject.after(outcome).failure?.error.code == .httpProtocol)
        }
    }

    @Test func completeBeforeAllWasSentIsNoSuccess() throws {
        for optimistically in [true, false] {
            var subject = optimistically ? try optimistic() : try appending()
            var outcome = answer(200, ["Upload-Complete": "?1"], sent: 99)
            outcome.isSentWhole = false
            #expect(subject.after(outcome).failure?.error.code == .httpProtocol)
        }
    }

    @Test func moreThanAnAppendBroughtIsNotBelieved() throws {
        var subject = try Stepper(uploadRequest("resumable"))
        subject.after(answer(201, ["Location": "/files/1", "Upload-Limit": "max-append-size=60"]))
        subject.after(answer(204, ["Upload-Offset": "61", "Upload-Complete": "?0"]))
        #expect(subject.step.failure?.error.code == .httpProtocol)
    }

    @Test func absurdNumbersDoNoHarm() throws {
        var subject = try Stepper(uploadRequest("resumable"))
        let most = "9223372036854775807"
        subject.after(
            answer(
                201,
                ["Location": "/files/1", "Upload-Limit": "max-age=\(most), max-append-size=\(most), max-size=\(most)"]))
        #expect(try subject.exchange.payload == .source(offset: 0, length: 100))
        #expect(subject.after(answer(409, ["Upload-Offset": most])).failure?.disposition == .permanent)
    }

    // MARK: Optimistic

    private func optimistic() throws -> Stepper {
        try Stepper(uploadRequest("resumable") { $0.uploadCreation = "optimistic" })
    }

    @Test func optimisticCreationCarriesTheWhole() throws {
        let subject = try optimistic()
        let creation = try subject.exchange
        #expect(creation.header("Upload-Complete") == "?1")
        #expect(creation.payload == .source(offset: 0, length: 100))
        #expect(creation.isReplayable == false)
        #expect(subject.step.stored?.awaitsAnswer == true)
    }

    @Test func a104SaysWhereItGoesOn() throws {
        var subject = try optimistic()
        let interim = head(104, ["Location": "/files/1"], url: "https://example.org/files")
        let heard = try #require(try subject.exchange.interimReader?(interim))
        #expect(heard.resourceURL == place)
        #expect(heard.awaitsAnswer == false)
        #expect(try subject.exchange.interimReader?(head(103, ["Location": "/x"])) == nil)
        var cut = lost(sent: 60)
        cut.interim = [interim]
        #expect(subject.after(cut).failure?.disposition == .transient(after: nil))
        #expect(subject.strategy.upload?.resourceURL == place)
        let next = try Stepper(uploadRequest("resumable", stored: subject.strategy.upload))
        #expect(try next.exchange.method == "HEAD")
    }

    @Test func without104OnlyAnUnfinishedRequestIsRepeated() throws {
        var subject = try optimistic()
        #expect(subject.after(lost(sent: 60)).failure?.disposition == .transient(after: nil))
        subject = try optimistic()
        #expect(subject.after(lost(sent: 100)).failure?.disposition == .permanent)
    }

    @Test func aFinalAnswerEndsOptimism() throws {
        var subject = try optimistic()
        #expect(subject.after(answer(200, body: "ok")).result?.total == 100)
        subject = try optimistic()
        #expect(subject.after(answer(500, ["Upload-Complete": "?1"])).failure?.disposition == .permanent)
        subject = try optimistic()
        subject.after(answer(201, ["Upload-Complete": "?0", "Location": "/files/1"]))
        #expect(try subject.exchange.method == "HEAD")
        #expect(subject.step.stored?.resourceURL == place)
        #expect(subject.step.stored?.awaitsAnswer == false)
    }

    @Test func aKillBeforeThe104LeavesItOpen() throws {
        var stored = begun(.resumable)
        stored.awaitsAnswer = true
        let subject = try Stepper(uploadRequest("resumable", stored: stored))
        #expect(subject.step.failure?.disposition == .permanent)
        #expect(subject.strategy.upload == nil)
    }

    // MARK: Others

    @Test func digestsGoAlongOnRequest() throws {
        var subject = try Stepper(uploadRequest("resumable") { $0.uploadChecksum = .sha256 })
        let whole = try #require(try subject.exchange.digests.first)
        #expect(whole.kind == .representation)
        #expect(whole.field([1, 2, 3]) == HeaderField("Repr-Digest", "sha-256=:AQID:"))
        subject.after(answer(201, ["Location": "/files/1"]))
        #expect(try subject.exchange.digests.first?.kind == .content)
    }

    @Test func cancellingDeletesTheUpload() throws {
        let prepared = uploadRequest("resumable", stored: begun(.resumable, at: place))
        let exchange = try #require(StrategyRegistry.cancellation(for: prepared))
        #expect(exchange.method == "DELETE")
        #expect(exchange.header("Upload-Draft-Interop-Version") == "8")
        #expect(exchange.header("Upload-Offset") == nil)
    }
}
