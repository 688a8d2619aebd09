import Testing
import TransferModel

@testable import TransferCore

struct ResumeProspectsTests {
    private func answer(
        _ status: Int? = 200, ranges: String? = "bytes", etag: String? = "\"a\"", coding: String? = nil,
        digests: [String: String] = [:]
    ) -> (head: ResponseHead, acceptance: Acceptance) {
        var head = ResponseHead(url: "https://example.org/f", status: status)
        if let ranges { head.headers.append(HeaderField("Accept-Ranges", ranges)) }
        let acceptance = Acceptance(
            offset: 0, truncate: true, total: 1000, validators: Validators(etag: etag), contentCoding: coding,
            serverDigests: digests)
        return (head, acceptance)
    }

    private func mayResume(_ answer: (head: ResponseHead, acceptance: Acceptance), _ spec: TaskSpec = TaskSpec())
        -> Bool
    {
        answer.acceptance.mayResume(Boxed(wrappedValue: spec), answer.head)
    }

    private var withChecksum: TaskSpec {
        var spec = TaskSpec()
        spec.checksum = Checksum(algorithm: .sha256, value: String(repeating: "0", count: 64))
        return spec
    }

    @Test func rangesAndProofMakeADownloadResumable() {
        #expect(mayResume(answer()))
        #expect(mayResume(answer(206, ranges: nil)), "what was given once is given again")
        #expect(mayResume(answer(ranges: "Bytes, x")))
        #expect(mayResume(answer(etag: nil), withChecksum))
        #expect(mayResume(answer(etag: nil, digests: ["sha-256": "00"])))
    }

    @Test func withoutRangesOrProofItBeginsAgain() {
        #expect(!mayResume(answer(ranges: nil)))
        #expect(!mayResume(answer(ranges: "none")))
        #expect(!mayResume(answer(ranges: nil), withChecksum))
        #expect(!mayResume(answer(etag: nil)))
        #expect(!mayResume(answer(etag: "W/\"a\"")))
        #expect(!mayResume(answer(etag: nil, coding: "gzip"), withChecksum))
        var post = TaskSpec()
        post.method = "POST"
        #expect(!mayResume(answer(), post))
        post.method = nil
        post.body = RequestBody()
        #expect(!mayResume(answer(), post))
    }

    /// An answer for an empty or a complete file changes nothing.
    @Test func theLengthDoesNotMatter() {
        var whole = answer()
        whole.acceptance.total = 0
        #expect(mayResume(whole))
        whole.acceptance.total = nil
        #expect(mayResume(whole))
    }

    @Test func filesAreResumedByTheirTime() {
        var file = answer(nil, ranges: nil, etag: nil)
        #expect(!mayResume(file), "a data URL")
        file.acceptance.validators.lastModified = "Mon, 01 Jan 2024 00:00:00 GMT"
        #expect(mayResume(file))
        file.acceptance.total = nil
        #expect(!mayResume(file))
    }

    private func request(_ kind: TaskKind, bytes: Int64, _ kindOfUpload: UploadProtocol?, awaits: Bool = false) -> Bool
    {
        var exchange = Exchange(url: "https://example.org/f", judge: ProbeJudge())
        if bytes > 0 { exchange.payload = .source(offset: 0, length: ByteCount(bytes)) }
        var progress = kindOfUpload.map {
            UploadProgress(uploadProtocol: $0, source: nil, createdAt: Timestamp(milliseconds: 0))
        }
        progress?.awaitsAnswer = awaits
        return exchange.mayResume(kind, progress)
    }

    @Test(arguments: UploadProtocol.allCases)
    func uploadsAreResumedWhereTheServerKeepsWhatItHas(_ kind: UploadProtocol) {
        let isPlain = [.put, .post, .multipart].contains(kind)
        #expect(request(.upload, bytes: 10, kind) == !isPlain)
        #expect(request(.upload, bytes: 0, kind), "nothing is sent")
        #expect(!request(.upload, bytes: 10, kind, awaits: true))
        #expect(!request(.upload, bytes: 0, kind, awaits: true), "the server may be acting on it")
        #expect(!request(.data, bytes: 0, kind))
    }

    @Test func aPlainUploadIsNotResumed() {
        #expect(!request(.upload, bytes: 10, nil))
        #expect(request(.upload, bytes: 0, nil), "the question which protocol the server speaks")
    }
}
