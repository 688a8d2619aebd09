import Testing
import TransferModel

@testable import TransferCore

struct RemoteFileUploadTests {
    private let url = "ftp://u:p@example.org/pub/f"

    private func found(_ size: Int64?, at time: Int64? = 5) -> ExchangeOutcome {
        ExchangeOutcome(
            end: .finished,
            head: ResponseHead(url: url, size: size.map { ByteCount($0) }, modificationTime: time))
    }

    private func resuming(before: RemoteFile? = nil) throws -> Stepper {
        var stored = begun(.file, offset: 0)
        stored.remoteBefore = before
        return try Stepper(uploadRequest(nil, url: url, stored: stored))
    }

    @Test func replacesWhatIsThere() throws {
        var subject = try Stepper(uploadRequest(nil, url: url))
        #expect(try subject.exchange.kind == .probe)
        #expect(try subject.exchange.url == "ftp://example.org/pub/f")
        #expect(try subject.exchange.network.username == "u")
        subject.after(found(60))
        #expect(subject.step.stored?.remoteBefore == RemoteFile(size: 60, modificationTime: 5))
        #expect(try subject.exchange.kind == .request)
        #expect(try subject.exchange.startOffset == 0)
        #expect(try subject.exchange.payload == .source(offset: 0, length: 100))
        subject.after(ExchangeOutcome(end: .finished))
        #expect(try subject.exchange.kind == .probe)
        #expect(subject.after(found(100)).result?.total == 100)
    }

    private func request(
        _ url: String, source: String? = nil, named name: String? = nil, stored: UploadProgress? = nil
    ) -> StrategyRequest {
        var request = uploadRequest(nil, url: url, stored: stored)
        request.spec.source = source.map { SourceFile(path: $0) }
        request.spec.fileName = name
        return request
    }

    @Test(
        arguments: [
            ("sftp://example.org/in/", "/home/me/a b.txt", nil, "sftp://example.org/in/a%20b.txt"),
            ("ftp://u:p@example.org/in/", "/x", nil, "ftp://example.org/in/x"),
            ("ftps://example.org/", "/x", "other", "ftps://example.org/other"),
            ("sftp://example.org", "/x", nil, "sftp://example.org/x"),
            ("sftp://example.org/in", "/x", nil, "sftp://example.org/in"),
            ("sftp://example.org/in/", nil, "name", "sftp://example.org/in/name"),
        ] as [(String, String?, String?, String)])
    func aFolderGetsTheFileUnderItsName(_ url: String, _ source: String?, _ name: String?, _ place: String) throws {
        var subject = try Stepper(request(url, source: source, named: name))
        #expect(try subject.exchange.url == place)
        subject.after(lost(78))
        #expect(try subject.exchange.url == place)
        #expect(try subject.exchange.kind == .request)
        // The started upload belongs to the URL of the task, which is the folder.
        let stored = try #require(subject.step.stored)
        #expect(stored.belongs(to: try URLRules.parse(url)))
        var again = try Stepper(request(url, source: source, named: name, stored: stored))
        again.after(found(40))
        #expect(try again.exchange.startOffset == 40)
    }

    @Test(arguments: [(nil, "url"), ("a/b", "fileName"), ("..", "fileName")] as [(String?, String)])
    func aFolderNeedsANameForIt(_ name: String?, _ field: String) {
        #expect {
            _ = try Stepper(request("sftp://example.org/in/", named: name))
        } throws: { error in
            (error as? TransferError)?.code == .badField
                && (error as? TransferError)?.details["field"] == .string(field)
        }
    }

    @Test(arguments: [9, 19, 78])
    func nothingThereIsFine(_ code: Int) throws {
        var subject = try Stepper(uploadRequest(nil, url: url))
        subject.after(lost(code))
        #expect(try subject.exchange.kind == .request)
        #expect(subject.step.stored?.remoteBefore == nil)
    }

    @Test func continuesWhereTheRemoteFileEnds() throws {
        var subject = try resuming()
        subject.after(found(40))
        #expect(subject.step.stored?.offset == 40)
        #expect(try subject.exchange.startOffset == 40)
        #expect(try subject.exchange.payload == .source(offset: 40, length: 60))
        subject = try resuming()
        #expect(subject.after(found(100)).result?.total == 100)
    }

    @Test func neverContinuesSomebodyElsesFile() throws {
        for (before, size, time, offset) in [
            (RemoteFile(size: 40, modificationTime: 5), 40, 5, 0), (RemoteFile(size: 40), 40, 9, 0),
            (RemoteFile(size: 40, modificationTime: 5), 40, 9, 40),
            (RemoteFile(size: 40, modificationTime: 5), 50, 9, 50),
            (nil, 101, 9, 0),
        ] as [(RemoteFile?, Int64, Int64, Int64)] {
            var subject = try resuming(before: before)
            subject.after(found(size, at: time))
            #expect(try subject.exchange.startOffset == ByteCount(offset))
            #expect(subject.step.stored?.remoteBefore == before)
        }
    }

    /// An HTTP proxy speaks FTP for the client.
    @Test func aProxysRefusalIsNoSuccess() throws {
        var subject = try Stepper(uploadRequest(nil, url: url))
        subject.after(lost(78))
        guard case .stop(let reason) = try subject.exchange.judge.judge(head(403, url: url)) else {
            Issue.record("accepted")
            return
        }
        subject.after(ExchangeOutcome(end: .stopped(reason), head: head(403, url: url)))
        guard case .failed(let failure) = subject.step else {
            Issue.record("\(subject.step)")
            return
        }
        #expect(failure.error.code == .httpStatus)
        #expect(failure.disposition == .permanent)
    }

    @Test func looksAgainWhereTheRemoteFileMoved() throws {
        var subject = try resuming()
        subject.after(found(40))
        let moved = ExchangeOutcome(end: .stopped(.restart(TransferError(.validatorChanged, "moved"))))
        subject.after(moved)
        #expect(try subject.exchange.kind == .probe)
        #expect(subject.step.restartCause == nil)
        subject.after(found(70))
        #expect(try subject.exchange.startOffset == 70)
        #expect(try subject.exchange.payload == .source(offset: 70, length: 30))
        for _ in 0..<2 {
            subject.after(moved)
            subject.after(found(70))
        }
        #expect(subject.after(moved).failure?.disposition == .transient(after: nil))
    }

    @Test(arguments: [31, 36])
    func serversThatCannotAppendGetItWhole(_ code: Int) throws {
        var subject = try resuming()
        subject.after(found(40))
        subject.after(lost(code))
        #expect(subject.step.restartCause != nil)
        subject.after(found(40))
        #expect(try subject.exchange.startOffset == 0)
    }

    @Test func anotherSizeAfterwardsIsNoSuccess() throws {
        var subject = try Stepper(uploadRequest(nil, url: url))
        subject.after(lost(78))
        subject.after(ExchangeOutcome(end: .finished))
        subject.after(found(99))
        #expect(subject.step.failure?.error.code == .integrityLength)
        #expect(subject.step.failure?.disposition == .transient(after: nil))
        #expect(subject.strategy.upload == nil)
    }

    @Test func serversWithoutSizesAreBelieved() throws {
        var subject = try Stepper(uploadRequest(nil, url: url))
        subject.after(lost(78))
        subject.after(ExchangeOutcome(end: .finished))
        #expect(subject.after(found(nil, at: nil)).result?.total == 100)
    }

    @Test func refusalsAreToldApart() throws {
        var subject = try Stepper(uploadRequest(nil, url: url))
        subject.after(lost(78))
        var refused = lost()
        refused.end = .transport(code: 25, message: "Failed FTP upload: 553")
        #expect(subject.after(refused).failure?.error.code == .permissionDenied)
        subject = try Stepper(uploadRequest(nil, url: url))
        subject.after(lost(78))
        refused.end = .transport(code: 25, message: "Failed FTP upload: 452")
        refused.reply = "452 Insufficient storage space"
        #expect(subject.after(refused).failure?.disposition == .transient(after: nil))
        subject = try Stepper(uploadRequest(nil, url: url))
        subject.after(lost(78))
        refused.end = .transport(code: 70, message: "")
        #expect(subject.after(refused).failure?.disposition == .transient(after: nil))
    }
}
