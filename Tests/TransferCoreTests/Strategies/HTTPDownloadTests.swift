import Testing
import TransferModel

@testable import TransferCore

struct HTTPDownloadTests {
    private func strategy(_ request: StrategyRequest) throws -> any TransferStrategy<Arrival> {
        try StrategyRegistry.download(for: request)
    }

    private func exchange(_ step: Step<Arrival>) throws -> Exchange {
        switch step {
        case .run(let exchange), .restart(_, then: let exchange): return exchange
        case .finished, .failed, .store: throw Unexpected(step: "\(step)")
        }
    }
    private struct Unexpected: Error { var step: String }

    private func arrival(_ step: Step<Arrival>) -> Arrival? {
        if case .finished(let arrival) = step { arrival } else { nil }
    }
    private func failure(_ step: Step<Arrival>) -> AttemptFailure? {
        if case .failed(let failure) = step { failure } else { nil }
    }
    private func isRestart(_ step: Step<Arrival>) -> Bool { if case .restart = step { true } else { false } }

    private func stopped(_ exchange: Exchange, _ head: ResponseHead, at offset: Int64 = 0) -> ExchangeOutcome {
        guard case .stop(let reason) = exchange.judge.judge(head) else {
            return ExchangeOutcome(end: .finished, head: head)
        }
        return ExchangeOutcome(end: .stopped(reason), head: head, offset: ByteCount(offset))
    }

    // MARK: Requests

    @Test func asksForIdentityAndADigest() throws {
        var subject = try strategy(request())
        let first = try exchange(subject.next(after: nil))
        #expect(first.header("Accept-Encoding") == "identity")
        #expect(first.header("Want-Repr-Digest") == "sha-256=10, sha-512=9")
        #expect(first.header("Range") == nil)
        #expect(first.startOffset == 0)
    }

    @Test func continuesWithRangeAndIfRange() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
        let first = try exchange(subject.next(after: nil))
        #expect(first.header("Range") == "bytes=100-")
        #expect(first.header("If-Range") == "\"a\"")
        #expect(first.startOffset == 100)
    }

    @Test func dropsWhatNothingProves() throws {
        for held in [
            checkpoint(100, of: 1000), checkpoint(100, of: 1000, etag: "W/\"a\""),
            checkpoint(100, of: 50, etag: "\"a\""),
        ] {
            var subject = try strategy(request(checkpoint: held))
            let step = subject.next(after: nil)
            #expect(isRestart(step))
            #expect(try exchange(step).header("Range") == nil)
        }
    }

    @Test func aTrustedDigestAllowsABareRange() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "W/\"a\""), trustedDigest: true))
        let first = try exchange(subject.next(after: nil))
        #expect(first.header("Range") == "bytes=100-")
        #expect(first.header("If-Range") == nil)
    }

    @Test func aCompleteFileNeedsNoRequest() throws {
        var subject = try strategy(
            request(checkpoint: checkpoint(1000, of: 1000, digests: ["sha-256": String(repeating: "0", count: 64)])))
        let done = arrival(subject.next(after: nil))
        #expect(done?.total == 1000)
        #expect(done?.serverDigests[.sha256] == String(repeating: "0", count: 64))
    }

    // MARK: Going on

    @Test func aShortPartIsContinued() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
        _ = subject.next(after: nil)
        let answer = head(206, ["Content-Range": "bytes 100-199/1000", "ETag": "\"a\""])
        let next = try exchange(
            subject.next(after: ExchangeOutcome(end: .finished, head: answer, offset: 200, received: 100)))
        #expect(next.header("Range") == "bytes=200-")
        #expect(next.header("If-Range") == "\"a\"")
    }

    /// "bytes 100-199/*" of a body of unknown length: there may be more bytes, and only a 416 says that there are none.
    @Test func aPartOfAnUnknownWholeIsContinuedToItsEnd() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, etag: "\"a\"")))
        _ = subject.next(after: nil)
        let answer = head(206, ["Content-Range": "bytes 100-199/*", "ETag": "\"a\"", "Content-Length": "100"])
        let next = try exchange(
            subject.next(after: ExchangeOutcome(end: .finished, head: answer, offset: 200, received: 100)))
        #expect(next.header("Range") == "bytes=200-")
        let end = head(416, ["Content-Range": "bytes */200", "ETag": "\"a\""])
        let done = arrival(subject.next(after: stopped(next, end, at: 200)))
        #expect(done?.total == 200)
        #expect(done?.lengthProven == true)
    }

    @Test func partsOfAFewBytesEndTheAttemptAfterAWhile() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 10_000_000, etag: "\"a\"")))
        _ = subject.next(after: nil)
        for offset in Int64(101)..<200 {
            let range = "bytes \(offset - 1)-\(offset - 1)/10000000"
            let answer = head(206, ["Content-Range": range, "ETag": "\"a\""])
            let step = subject.next(
                after: ExchangeOutcome(end: .finished, head: answer, offset: ByteCount(offset), received: 1))
            guard let failure = failure(step) else { continue }
            #expect(offset == 116)
            #expect(failure.disposition == .transient(after: nil))
            #expect(failure.progressed)
            return
        }
        Issue.record("it asks for ever")
    }

    @Test func a200OfTheSameVersionIsFollowedByOneBareRange() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
        let first = try exchange(subject.next(after: nil))
        let same = head(200, ["Content-Length": "1000", "ETag": "\"a\""])
        let bare = try exchange(subject.next(after: stopped(first, same, at: 100)))
        #expect(bare.header("Range") == "bytes=100-")
        #expect(bare.header("If-Range") == nil)
        guard case .accept(let accepted) = bare.judge.judge(same) else {
            Issue.record("the second 200 must be taken from 0")
            return
        }
        #expect(accepted.truncate)
    }

    @Test func anUnusableAnswerRestartsWithoutARange() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
        let first = try exchange(subject.next(after: nil))
        let step = subject.next(after: stopped(first, head(206, ["Content-Range": "bytes 0-999/1000"]), at: 100))
        #expect(isRestart(step))
        #expect(try exchange(step).header("Range") == nil)
    }

    @Test func endlessRestartsEndTheAttempt() throws {
        var subject = try strategy(request())
        _ = subject.next(after: nil)
        var steps: [Step<Arrival>] = []
        for _ in 0..<4 { steps.append(subject.next(after: ExchangeOutcome(end: .overrun, head: head(200)))) }
        #expect(steps.prefix(3).allSatisfy(isRestart))
        let last = try #require(failure(steps[3]))
        #expect(last.error.code == .integrityLength)
        #expect(last.disposition == .transient(after: nil))
    }

    @Test func aConfirmed416Completes() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, etag: "\"a\"")))
        let first = try exchange(subject.next(after: nil))
        let answer = head(416, ["Content-Range": "bytes */100", "ETag": "\"a\""])
        let done = arrival(subject.next(after: stopped(first, answer, at: 100)))
        #expect(done?.total == 100)
        #expect(done?.lengthProven == true)
    }

    // MARK: Ending

    @Test func withoutLengthACloseProvesNothing() throws {
        var subject = try strategy(request())
        _ = subject.next(after: nil)
        let closed = ExchangeOutcome(end: .finished, head: head(200), offset: 70, received: 70, delimited: false)
        #expect(arrival(subject.next(after: closed))?.lengthProven == false)
        var chunked = try strategy(request())
        _ = chunked.next(after: nil)
        let whole = ExchangeOutcome(end: .finished, head: head(200), offset: 70, received: 70, delimited: true)
        #expect(arrival(chunked.next(after: whole))?.lengthProven == true)
    }

    @Test func aBodyShorterThanAnnouncedIsTransient() throws {
        var subject = try strategy(request())
        _ = subject.next(after: nil)
        let short = ExchangeOutcome(
            end: .finished, head: head(200, ["Content-Length": "100"]), offset: 70, received: 70)
        let failed = try #require(failure(subject.next(after: short)))
        #expect(failed.error.code == .networkLost)
        #expect(failed.progressed)
    }

    @Test func trailersBringDigests() throws {
        var subject = try strategy(request())
        _ = subject.next(after: nil)
        let digest = HeaderField("Repr-Digest", "md5=:AAAAAAAAAAAAAAAAAAAAAA==:")
        let done = ExchangeOutcome(end: .finished, head: head(200), trailers: [digest], offset: 7, received: 7)
        #expect(arrival(subject.next(after: done))?.serverDigests == [.md5: String(repeating: "0", count: 32)])
    }

    @Test func aCodingIsDecodedUnlessTheNameSaysIt() throws {
        for (url, coding) in [("https://example.org/x.tar", "gzip"), ("https://example.org/x.tar.gz", nil)] {
            var subject = try strategy(request(url))
            _ = subject.next(after: nil)
            let answer = head(200, ["Content-Encoding": "gzip", "Content-Length": "7", "ETag": "\"a\""], url: url)
            let done = arrival(
                subject.next(after: ExchangeOutcome(end: .finished, head: answer, offset: 7, received: 7)))
            #expect(done?.contentCoding == coding)
        }
    }

    @Test func aCodingThatStaysIsInTheName() {
        for (coding, name) in [("lz4", "x.tar.lz4"), ("br", "x.tar"), ("gzip, compress", "x.tar.gz.Z")] {
            let answer = head(200, ["Content-Encoding": coding], url: "https://example.org/x.tar")
            #expect(FilenameRules.suggested(head: answer, url: "") == name)
        }
        #expect(FilenameRules.coded(".hidden", nil) == ".hidden")
        #expect(FilenameRules.coded(".hidden", "lz4") == ".hidden.lz4")
    }

    // MARK: Announced lengths

    /// After a 416 without a validator the last byte is requested. Its answer gives the length and the version.
    @Test func theLastByteProvesALengthThatWasAnnouncedWrongly() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
        var asked = try exchange(subject.next(after: nil))
        let beyond = head(416, ["Content-Range": "bytes */100"])
        asked = try exchange(subject.next(after: stopped(asked, beyond, at: 100)))
        #expect(asked.header("Range") == "bytes=99-" && asked.header("If-Range") == "\"a\"")
        #expect(asked.startOffset == 99)
        let last = head(206, ["Content-Range": "bytes 99-99/100", "ETag": "\"a\"", "Content-Length": "1"])
        let done = ExchangeOutcome(end: .finished, head: last, offset: 100, received: 1)
        let whole = arrival(subject.next(after: done))
        #expect(whole?.total == 100 && whole?.lengthProven == true)
    }

    @Test func withoutThatProofItRestarts() throws {
        let last: KeyValuePairs = ["Content-Range": "bytes 99-99/1000", "ETag": "\"a\"", "Content-Length": "1"]
        let shorter: KeyValuePairs = ["Content-Range": "bytes */99"]
        for answer in [head(416, ["Content-Range": "bytes */100"]), head(416, shorter), head(206, last), head(416)] {
            var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
            var asked = try exchange(subject.next(after: nil))
            asked = try exchange(
                subject.next(after: stopped(asked, head(416, ["Content-Range": "bytes */100"]), at: 100)))
            let step = subject.next(after: stopped(asked, answer, at: 99))
            #expect(isRestart(step))
            #expect(try exchange(step).header("Range") == nil)
        }
        // These cases prove nothing: a weak validator or another length.
        for (total, etag) in [(100, "W/\"a\""), (99, "\"a\"")] {
            var held = checkpoint(100, of: 1000, etag: etag)
            held.serverDigests = ["sha-256": "00"]
            var subject = try strategy(request(checkpoint: held))
            let asked = try exchange(subject.next(after: nil))
            #expect(
                isRestart(
                    subject.next(after: stopped(asked, head(416, ["Content-Range": "bytes */\(total)"]), at: 100))))
        }
    }

    @Test func aBodyThatEndsEarlySaysWhere() throws {
        let closed = ExchangeOutcome.End.transport(code: 18, message: "")
        for (checkpoint, fields, offset, received, end, expected) in [
            (nil, ["Content-Length": "1000"], 70, 70, closed, (70, 1000, ShortEnd.proofByBodies)),
            (nil, ["Content-Length": "1000"], 70, 70, .stalled, (70, 1000, ShortEnd.proofByOthers)),
            (nil, ["Content-Length": "1000"], 70, 70, .aborted, nil), (nil, [:], 70, 70, closed, nil),
            (nil, ["Content-Length": "1000"], 0, 0, closed, nil),
            (
                checkpoint(100, of: 1000, etag: "\"a\""),
                ["Content-Range": "bytes 100-999/1000", "ETag": "\"a\""], 100, 0, closed,
                (100, 1000, ShortEnd.proofByOthers)
            ),
            (
                checkpoint(100, of: 1000, etag: "\"a\""),
                ["Content-Range": "bytes 100-999/1000", "ETag": "\"a\""], 100, 0, .stalled, nil
            ),
        ] as [(Checkpoint?, [String: String], Int64, Int64, ExchangeOutcome.End, (Int64, Int64, Int)?)] {
            var subject = try strategy(request(checkpoint: checkpoint))
            _ = subject.next(after: nil)
            let answer = ResponseHead(
                url: "https://example.org/f", status: checkpoint == nil ? 200 : 206,
                headers: fields.map { HeaderField($0.key, $0.value) })
            let outcome = ExchangeOutcome(
                end: end, head: answer, offset: ByteCount(offset), received: ByteCount(received))
            let short = failure(subject.next(after: outcome))?.shortEnd
            #expect(short?.received.rawValue == expected?.0 && short?.announced.rawValue == expected?.1)
            #expect(short?.proof == expected?.2)
        }
    }

    @Test func progressCountsOnlyNewBytes() throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
        _ = subject.next(after: nil)
        let lost = ExchangeOutcome(
            end: .transport(code: 56, message: ""), head: head(200, ["Content-Length": "1000"]), offset: 90,
            received: 90)
        #expect(failure(subject.next(after: lost))?.progressed == false)
        #expect(failure(subject.next(after: lost))?.held == 100)
    }

    /// The held bytes stay until the whole comes.
    @Test(arguments: [400, 403, 405, 406, 415, 501])
    func aRefusedRangeIsFollowedByOneRequestForTheWhole(_ status: Int) throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
        let first = try exchange(subject.next(after: nil))
        guard case .run(let whole) = subject.next(after: stopped(first, head(status))) else {
            return #expect(Bool(false), "\(status) was final")
        }
        #expect(whole.header("Range") == nil && whole.header("If-Range") == nil && whole.startOffset == 0)
        let refused = failure(subject.next(after: stopped(whole, head(status))))
        #expect(refused?.disposition == .permanent && refused?.held == 100)
    }

    @Test(arguments: [401, 404, 410, 407])
    func otherRefusalsSayNothingOfTheRange(_ status: Int) throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
        let first = try exchange(subject.next(after: nil))
        #expect(failure(subject.next(after: stopped(first, head(status)))) != nil)
    }

    /// Only the answer that brought the held bytes tells their type.
    @Test func theTypeOfTheHeldBytesComesFromTheLastAnswerIfItWasOfTheirVersion() throws {
        func type(_ etag: String) throws -> String? {
            var asked = request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\""))
            asked.lastHeaders = [HeaderField("ETag", etag), HeaderField("Content-Type", "application/gzip")]
            var subject = try strategy(asked)
            return (try exchange(subject.next(after: nil)).judge as? HTTPJudge)?.held?.mediaType
        }
        #expect(try type("\"a\"") == "application/gzip")
        #expect(try type("\"b\"") == nil)
    }

    // MARK: Redirects to signed URLs

    @Test(arguments: [400, 401, 403, 410])
    func anExpiredTargetIsResolvedAgainOnce(_ status: Int) throws {
        var subject = try strategy(request(checkpoint: checkpoint(100, of: 1000, etag: "\"a\"")))
        let first = try exchange(subject.next(after: nil))
        let expired = head(status, url: "https://cdn.example.net/x?sig=1", redirects: 1)
        let again = try exchange(subject.next(after: stopped(first, expired)))
        #expect(again.url == "https://example.org/file.bin")
        #expect(again.header("If-Range") == "\"a\"")
        var step = subject.next(after: stopped(again, expired))
        if case .run(let whole) = step { step = subject.next(after: stopped(whole, expired)) }
        #expect(failure(step)?.disposition == .permanent)
    }

    @Test func withoutARedirectARefusalIsFinal() throws {
        var subject = try strategy(request())
        let first = try exchange(subject.next(after: nil))
        #expect(failure(subject.next(after: stopped(first, head(403))))?.disposition == .permanent)
    }

    // MARK: Methods and bodies

    @Test func aPostIsNotRepeatedOnceItWasSent() throws {
        let post = request { $0.body = RequestBody(text: "q") }
        var subject = try strategy(post)
        _ = subject.next(after: nil)
        #expect(failure(subject.next(after: lost(sent: 1)))?.disposition == .permanent)
        #expect(subject.upload == nil)
        var other = try strategy(post)
        _ = other.next(after: nil)
        let unsent = ExchangeOutcome(end: .transport(code: 7, message: ""))
        #expect(failure(other.next(after: unsent))?.disposition == .transient(after: nil))
        #expect(other.upload == nil)
    }

    /// Whether the daemon ends or the run is stopped, a request that the server may have acted on is not sent again.
    @Test func aPostIsMarkedBeforeItLeaves() throws {
        let post = request { $0.body = RequestBody(text: "q") }
        var subject = try Steps<Arrival>(post)
        let stored = try #require(subject.step.stored)
        #expect(stored.awaitsAnswer)
        var killed = post
        killed.upload = stored
        let next = try Steps<Arrival>(killed)
        #expect(next.step.failure?.disposition == .permanent)
        #expect(next.strategy.upload == nil)

        var stopped = lost(sent: 1)
        stopped.end = .aborted
        subject.after(stopped)
        #expect(subject.strategy.upload == stored)
        subject = try Steps<Arrival>(post)
        stopped.sent = 0
        subject.after(stopped)
        #expect(subject.strategy.upload == nil)

        #expect(try Steps<Arrival>(request { $0.method = "PUT" }).step.stored == nil)
        #expect(try Steps<Arrival>(request()).step.stored == nil)
    }

    @Test func aWholeAnswerIsAnAnswer() throws {
        var post = request(checkpoint: checkpoint(9, of: 9)) { $0.body = RequestBody(text: "q") }
        post.upload = UploadProgress(uploadProtocol: .post, source: nil, createdAt: reading().wall)
        post.upload?.awaitsAnswer = true
        var subject = try strategy(post)
        guard case .finished(let arrival) = subject.next(after: nil) else {
            Issue.record("asked again")
            return
        }
        #expect(!arrival.mayBeFetchedAgain)
    }

    @Test func aBodyThatChangedIsNotSent() throws {
        var post = request { $0.body = RequestBody(file: "/f") }
        post.source = identity(5)
        post.upload = UploadProgress(uploadProtocol: .post, source: identity(6), createdAt: reading().wall)
        let error = #expect(throws: TransferError.self) { try strategy(post) }
        #expect(error?.code == .sourceChanged)
    }

    @Test func aPostNeverAsksForARange() throws {
        var subject = try strategy(request(checkpoint: checkpoint(5, of: 9, etag: "\"a\"")) { $0.method = "POST" })
        let step = subject.next(after: nil)
        #expect(isRestart(step))
        #expect(try exchange(step).header("Range") == nil)
        #expect(subject.upload?.awaitsAnswer == true)
    }

    @Test func whatCannotBeSentIsRefused() {
        #expect(throws: TransferError.self) { try strategy(request { $0.method = "HEAD" }) }
        #expect(throws: TransferError.self) { try strategy(request { $0.body = RequestBody() }) }
        #expect(throws: TransferError.self) { try strategy(request { $0.headers = [HeaderField("X", "a\r\nb")] }) }
        #expect(throws: TransferError.self) { try strategy(request { $0.body = RequestBody(file: "/x") }) }
    }
}

extension RequestBody {
    fileprivate init(text: String? = nil, file: String? = nil) {
        self.init()
        self.text = text
        self.file = file
    }
}
