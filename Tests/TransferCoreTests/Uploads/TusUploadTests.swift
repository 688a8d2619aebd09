import Testing
import TransferModel

@testable import TransferCore

struct TusUploadTests {
    private let place = "https://example.org/files/1"

    private func sending(_ change: (inout TaskSpec) -> Void = { _ in }) throws -> Stepper {
        var subject = try Stepper(uploadRequest("tus", change: change))
        if try subject.exchange.method == "OPTIONS" {
            subject.after(answer(204, ["Tus-Version": "1.0.0", "Tus-Checksum-Algorithm": "md5, sha1,sha256"]))
        }
        subject.after(answer(201, ["Location": "/files/1"]))
        return subject
    }

    @Test func createsWithLengthAndMetadata() throws {
        let subject = try Stepper(
            uploadRequest("tus") {
                $0.uploadMetadata = ["filename": "fox é.txt", "empty": "", "filetype": "a/b"]
                $0.headers = [HeaderField("Upload-Length", "7"), HeaderField("X-Api", "k")]
            })
        let creation = try subject.exchange
        #expect(creation.method == "POST")
        #expect(creation.kind == .request)
        #expect(creation.header("Tus-Resumable") == "1.0.0")
        #expect(creation.allHeaders.filter { $0.name == "Upload-Length" } == [HeaderField("Upload-Length", "100")])
        #expect(creation.header("Upload-Metadata") == "empty,filename Zm94IMOpLnR4dA==,filetype YS9i")
        #expect(creation.header("X-Api") == "k")
        #expect(creation.payload == .bytes([]))
    }

    @Test func namesTheFileWhereNothingElseIsSaid() throws {
        for change in [
            { _ in }, { $0.uploadMetadata = ["filename": "fox.txt"] }, { $0.contentType = "text/plain" },
        ] as [(inout TaskSpec) -> Void] {
            let subject = try Stepper(uploadRequest("tus", change: change))
            #expect(try subject.exchange.header("Upload-Metadata") == "filename Zm94LnR4dA==,filetype dGV4dC9wbGFpbg==")
        }
        let silent = try Stepper(uploadRequest("tus") { $0.uploadMetadata = [:] })
        #expect(try silent.exchange.header("Upload-Metadata") == nil)
    }

    @Test func storesThePlaceBeforeAByteIsSent() throws {
        let subject = try sending()
        #expect(subject.step.stored?.resourceURL == place)
        #expect(subject.step.stored?.offset == 0)
        let append = try subject.exchange
        #expect(append.method == "PATCH")
        #expect(append.url == place)
        #expect(append.header("Upload-Offset") == "0")
        #expect(append.header("Content-Type") == "application/offset+octet-stream")
        #expect(append.payload == .source(offset: 0, length: 100))
    }

    @Test(arguments: [
        ("/files/1", "https://example.org/files/1"), ("1", "https://example.org/1"),
        ("./u/1?k=v", "https://example.org/u/1?k=v"),
        ("//up.example.org/1", "https://up.example.org/1"), ("http://other.org:8080/1", "http://other.org:8080/1"),
    ])
    func resolvesTheLocation(_ location: String, _ resolved: String) throws {
        var subject = try Stepper(uploadRequest("tus"))
        subject.after(answer(201, ["Location": location]))
        #expect(subject.step.stored?.resourceURL == resolved)
    }

    @Test func aServerThatTakesAByteATimeIsGivenARest() throws {
        var subject = try sending()
        for offset in 1...99 {
            subject.after(answer(204, ["Upload-Offset": "\(offset)"]))
            guard case .failed(let failure) = subject.step else { continue }
            #expect(offset == Crumbs.limit)
            #expect(failure.disposition == .transient(after: nil))
            #expect(failure.progressed)
            return
        }
        Issue.record("it is asked for ever")
    }

    @Test func anotherOriginIsShownNoFilesOfTheCaller() throws {
        var prepared = uploadRequest("tus")
        prepared.network.netrcPath = "/n"
        prepared.network.clientCertificate = ClientCertificate(certificate: "/c")
        prepared.network.certificates.authorities = [1]
        prepared.network.certificates.certificate = [2]
        prepared.network.certificates.key = [3]
        var own = NetworkOptions.OriginCredential(origin: "https://cdn.example.net:443", username: "u", password: "p")
        own.method = .ntlm
        prepared.network.answered = [own]
        var subject = try Stepper(prepared)
        #expect(try subject.exchange.network.netrcPath == "/n")
        #expect(try subject.exchange.network.certificates.certificate == [2])
        subject.after(answer(201, ["Location": "https://cdn.example.net/1"]))
        let network = try subject.exchange.network
        #expect(network.netrcPath == nil && network.clientCertificate == nil)
        #expect(network.certificates.certificate == nil && network.certificates.key == nil)
        #expect(network.certificates.authorities == [1])
        // A credential for that origin goes there.
        #expect(network.answered == [own])
    }

    @Test func anotherOriginLearnsNoSecrets() throws {
        var prepared = uploadRequest("tus") {
            $0.headers = [
                HeaderField("X-Api-Key", "secret"), HeaderField("User-Agent", "me"), HeaderField("Accept", "*/*"),
            ]
        }
        prepared.network.bearer = "token"
        var subject = try Stepper(prepared)
        #expect(try subject.exchange.network.bearer == "token")
        subject.after(answer(201, ["Location": "https://cdn.example.net/1"]))
        let append = try subject.exchange
        #expect(append.network.bearer == nil)
        #expect(append.header("X-Api-Key") == nil)
        #expect(append.header("User-Agent") == "me")
    }

    @Test func plaintextIsRefusedWhereForbidden() throws {
        var prepared = uploadRequest("tus")
        prepared.network.allowsPlaintext = false
        var subject = try Stepper(prepared)
        subject.after(answer(201, ["Location": "http://example.org/1"]))
        #expect(subject.step.failure?.error.code == .plaintextRefused)
    }

    @Test func aCreationWithoutPlaceIsNoUpload() throws {
        var subject = try Stepper(uploadRequest("tus"))
        subject.after(answer(200))
        #expect(subject.step.failure?.error.code == .httpProtocol)
        #expect(subject.step.failure?.disposition == .permanent)
    }

    @Test func anEmptyFileIsCompleteWithItsCreation() throws {
        var subject = try Stepper(uploadRequest("tus", size: 0))
        #expect(subject.after(answer(201, ["Location": "/files/1"])).result?.total == 0)
    }

    // MARK: Offsets

    @Test func asksFirstWhereItContinues() throws {
        var subject = try Stepper(uploadRequest("tus", stored: begun(.tus, at: place, offset: 40)))
        #expect(try subject.exchange.method == "HEAD")
        subject.after(answer(200, ["Upload-Offset": "60", "Upload-Length": "100"]))
        #expect(subject.step.stored?.offset == 60)
        #expect(try subject.exchange.payload == .source(offset: 60, length: 40))
        subject.after(lost())
        #expect(subject.step.failure?.progressed == true)
    }

    @Test func theServersOffsetCountsAlsoBehindOurs() throws {
        var subject = try Stepper(uploadRequest("tus", stored: begun(.tus, at: place, offset: 40)))
        subject.after(answer(200, ["Upload-Offset": "10"]))
        #expect(try subject.exchange.payload == .source(offset: 10, length: 90))
        subject.after(lost())
        #expect(subject.step.failure?.progressed == false)
    }

    @Test func aHeadThatSaysEverythingIsThereEndsIt() throws {
        var subject = try Stepper(uploadRequest("tus", stored: begun(.tus, at: place, offset: 40)))
        #expect(subject.after(answer(200, ["Upload-Offset": "100"])).result?.total == 100)
    }

    @Test(arguments: [
        ["Upload-Offset": "101"], ["Upload-Offset": "10", "Upload-Length": "99"], [:], ["Upload-Offset": "-1"],
    ])
    func impossibleAnswersEndIt(_ fields: [String: String]) throws {
        var subject = try Stepper(uploadRequest("tus", stored: begun(.tus, at: place, offset: 40)))
        var outcome = answer(200)
        outcome.head?.headers = fields.map { HeaderField($0.key, $0.value) }
        subject.after(outcome)
        #expect(subject.step.failure?.error.code == .httpProtocol)
        #expect(subject.step.failure?.disposition == .permanent)
    }

    @Test func lessThanWasSentIsContinued() throws {
        var subject = try sending()
        subject.after(answer(204, ["Upload-Offset": "30"], sent: 100))
        #expect(subject.step.stored?.offset == 30)
        #expect(try subject.exchange.payload == .source(offset: 30, length: 70))
    }

    @Test func moreThanThereIsEndsIt() throws {
        var subject = try sending()
        subject.after(answer(204, ["Upload-Offset": "130"]))
        #expect(subject.step.failure?.disposition == .permanent)
    }

    @Test func anAppendWithoutOffsetIsAskedAbout() throws {
        var subject = try sending()
        subject.after(answer(204))
        #expect(try subject.exchange.method == "HEAD")
        #expect(subject.after(answer(200, ["Upload-Offset": "100"])).result != nil)
    }

    @Test func aServerThatDoesNotGetOnIsLeftAlone() throws {
        var subject = try sending()
        for _ in 0..<3 { subject.after(answer(204, ["Upload-Offset": "0"])) }
        #expect(subject.step.stored != nil)
        subject.after(answer(204, ["Upload-Offset": "0"]))
        #expect(subject.step.failure?.disposition == .transient(after: nil))
        #expect(subject.step.failure?.progressed == false)
    }

    // MARK: Statuses

    @Test func aConflictIsAskedAbout() throws {
        var subject = try sending()
        subject.after(answer(409))
        #expect(try subject.exchange.method == "HEAD")
        subject.after(answer(200, ["Upload-Offset": "50"]))
        #expect(try subject.exchange.header("Upload-Offset") == "50")
        for _ in 0..<5 where subject.step.exchange != nil {
            let isHead = try subject.exchange.method == "HEAD"
            subject.after(isHead ? answer(200, ["Upload-Offset": "50"]) : answer(409))
        }
        #expect(subject.step.failure?.disposition == .transient(after: nil))
    }

    @Test(arguments: [404, 410])
    func aLostUploadBeginsAnew(_ status: Int) throws {
        var subject = try sending()
        for _ in 0..<3 {
            subject.after(answer(status))
            #expect(subject.step.restartCause?.code == .httpStatus)
            #expect(try subject.exchange.method == "POST")
            #expect(subject.strategy.upload?.resourceURL == nil)
            subject.after(answer(201, ["Location": "/files/2"]))
        }
        subject.after(answer(status))
        #expect(subject.step.failure?.disposition == .transient(after: nil))
        // As long as no more bytes arrive, the next attempt has one more try, not four.
        subject = try Stepper(uploadRequest("tus", stored: subject.strategy.upload))
        #expect(try subject.exchange.method == "POST")
        subject.after(answer(201, ["Location": "/files/3"]))
        #expect(subject.after(answer(status)).failure?.progressed == false)
    }

    @Test func gettingFurtherGivesAnUploadNewTries() throws {
        var subject = try sending()
        for offset in [10, 20, 30, 40, 50] {
            subject.after(answer(204, ["Upload-Offset": "\(offset)"]))
            #expect(subject.after(answer(404)).restartCause != nil)
            subject.after(answer(201, ["Location": "/files/2"]))
        }
        // Progress counts only beyond the furthest offset ever reached, not within this upload.
        for offset in [10, 30] {
            subject.after(answer(204, ["Upload-Offset": "\(offset)"]))
            #expect(subject.after(answer(404)).restartCause != nil)
            subject.after(answer(201, ["Location": "/files/2"]))
        }
        subject.after(answer(204, ["Upload-Offset": "40"]))
        #expect(subject.after(answer(404)).failure?.progressed == true)
        subject = try Stepper(uploadRequest("tus", stored: subject.strategy.upload))
        subject.after(answer(201, ["Location": "/files/3"]))
        subject.after(answer(204, ["Upload-Offset": "50"]))
        #expect(subject.after(answer(404)).failure?.progressed == false)
    }

    @Test func moreThanWasSentIsNotBelieved() throws {
        var subject = try sending()
        var early = answer(204, ["Upload-Offset": "61"], sent: 60)
        early.isSentWhole = false
        #expect(subject.after(early).failure?.error.code == .httpProtocol)
        subject = try sending()
        early = answer(204, ["Upload-Offset": "60"], sent: 60)
        early.isSentWhole = false
        subject.after(early)
        #expect(try subject.exchange.payload == .source(offset: 60, length: 40))
    }

    @Test func piecesThatAreTooLargeBecomeSmaller() throws {
        var subject = try Stepper(uploadRequest("tus", size: 1 << 20))
        subject.after(answer(201, ["Location": "/files/1"]))
        var lengths: [Int64] = []
        while subject.step.exchange != nil {
            lengths.append(try subject.exchange.payload.sourceLength.rawValue >> 10)
            subject.after(answer(413))
            guard subject.step.exchange != nil else { break }
            #expect(try subject.exchange.method == "HEAD")
            subject.after(answer(200, ["Upload-Offset": "0"]))
        }
        #expect(lengths == [1024, 512, 256, 128, 64])
        #expect(subject.step.failure?.error.details["status"] == 413)
        #expect(subject.step.failure?.disposition == .permanent)
        #expect(subject.strategy.upload?.longestAppend == nil)
    }

    @Test func theSizeThatIsTakenIsKept() throws {
        var subject = try Stepper(uploadRequest("tus", size: 1 << 20))
        subject.after(answer(201, ["Location": "/files/1"]))
        subject.after(answer(413))
        subject.after(answer(200, ["Upload-Offset": "1000"]))
        #expect(try subject.exchange.payload == .source(offset: 1000, length: .kibibytes(512)))
        #expect(subject.step.stored?.longestAppend == .kibibytes(512))
        subject.after(answer(204, ["Upload-Offset": "525288"]))
        #expect(try subject.exchange.payload.sourceLength == .kibibytes(512) - 1000)
    }

    @Test func aPlaceWithoutANameIsNone() throws {
        var subject = try Stepper(uploadRequest("tus"))
        #expect(subject.after(answer(201, ["Location": " "])).failure?.error.code == .httpProtocol)
    }

    @Test func anExpiredUploadMayAnswer403() throws {
        var stored = begun(.tus, at: place, offset: 40)
        var subject = try Stepper(uploadRequest("tus", stored: stored))
        #expect(subject.after(answer(403)).failure?.disposition == .permanent)
        stored.expiresAt = reading(-1).wall
        subject = try Stepper(uploadRequest("tus", stored: stored))
        #expect(subject.after(answer(403)).restartCause != nil)
    }

    @Test func rememberWhenItExpires() throws {
        var subject = try sending()
        let date = HTTPDate.format(2_000_000_000)
        subject.after(answer(204, ["Upload-Offset": "30", "Upload-Expires": date]))
        #expect(subject.step.stored?.expiresAt == Timestamp(milliseconds: 2_000_000_000_000))
    }

    @Test func aLockedUploadWaits() throws {
        var subject = try sending()
        subject.after(answer(423, ["Retry-After": "7"]))
        #expect(subject.step.failure?.disposition == .transient(after: 7))
        #expect(subject.strategy.upload?.resourceURL == place)
    }

    @Test func aWrongChecksumSendsTheChunkAgain() throws {
        var subject = try sending { $0.uploadChecksum = .sha256 }
        let digest = try #require(try subject.exchange.digests.first)
        #expect(digest.kind == .upload)
        #expect(digest.field([1, 2, 3]) == HeaderField("Upload-Checksum", "sha256 AQID"))
        for _ in 0..<3 {
            subject.after(answer(460))
            #expect(try subject.exchange.header("Upload-Offset") == "0")
        }
        #expect(subject.after(answer(460)).failure?.error.code == .integrityChecksum)
    }

    @Test func chunksWithAChecksumAreSmall() throws {
        var subject = try Stepper(uploadRequest("tus", size: 40 << 20) { $0.uploadChecksum = .sha1 })
        #expect(try subject.exchange.method == "OPTIONS")
        subject.after(answer(200, ["Tus-Version": "1.0.0", "Tus-Checksum-Algorithm": "sha1"]))
        subject.after(answer(201, ["Location": "/files/1"]))
        #expect(try subject.exchange.payload == .source(offset: 0, length: .mebibytes(16)))
    }

    @Test func anUnknownChecksumIsRefusedWithWhatIsOffered() throws {
        var subject = try Stepper(uploadRequest("tus") { $0.uploadChecksum = .sha512 })
        subject.after(answer(204, ["Tus-Version": "1.0.0", "Tus-Checksum-Algorithm": "md5,sha1"]))
        #expect(subject.step.failure?.error.code == .badField)
        #expect(subject.step.failure?.error.message.contains("md5, sha1") == true)
    }

    @Test func tooLargeIsPermanent() throws {
        var subject = try Stepper(uploadRequest("tus"))
        subject.after(answer(413))
        #expect(subject.step.failure?.disposition == .permanent)
        #expect(subject.step.failure?.error.details["status"] == 413)
    }

    @Test func anotherVersionIsPermanent() throws {
        var subject = try Stepper(uploadRequest("tus"))
        subject.after(answer(412, ["Tus-Version": "2.0.0"]))
        #expect(subject.step.failure?.error.message.contains("2.0.0") == true)
    }

    @Test func cancellingDeletesTheUpload() throws {
        var prepared = uploadRequest("tus", stored: begun(.tus, at: place, offset: 40))
        // The file may have changed or been deleted by now.
        prepared.source = nil
        let exchange = try #require(StrategyRegistry.cancellation(for: prepared))
        #expect(exchange.method == "DELETE")
        #expect(exchange.url == place)
        #expect(exchange.header("Tus-Resumable") == "1.0.0")
        prepared.upload = nil
        #expect(StrategyRegistry.cancellation(for: prepared) == nil)
    }
}
