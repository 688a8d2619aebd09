import Testing
import TransferModel

@testable import TransferCore

/// Which URLs lead to the same upload. Ending the upload by mistake would lose all bytes that were sent.
@Suite struct S3UploadIdentityTests {
    private func upload(_ part: String, abort: String? = nil) -> S3Upload {
        S3Upload(partURLs: [part], partSize: 5, completeURL: "https://s/k", abortURL: abort)
    }

    @Test(arguments: [
        ("https://s/k?partNumber=1&uploadId=u&sig=a", "https://s/k?uploadId=u&partNumber=1&sig=b", true),
        ("https://b.s/k?uploadId=u", "https://s/b/k?uploadId=u", true), ("https://s/k?a=1", "https://s/k?a=2", true),
        ("https://s/k?uploadId=u", "https://s/k?uploadId=v", false), ("https://s/k?uploadId=u", "https://s/k", false),
        ("https://s/k", "https://s/l", false),
    ])
    func theUploadIsKnownByItsID(_ old: String, _ new: String, _ isSame: Bool) {
        #expect(upload(new).isSameUpload(as: upload(old)) == isSame)
        #expect(upload(old).isSameUpload(as: upload(new)) == isSame)
    }

    @Test func whatWouldBeEndedByTheSameURLIsTheSame() {
        #expect(
            upload("https://a/k", abort: "https://s/end").isSameUpload(
                as: upload("https://b/k", abort: "https://s/end")))
        #expect(
            !upload("https://a/k", abort: "https://s/1").isSameUpload(as: upload("https://b/k", abort: "https://s/2")))
    }
}
