import Testing
import TransferModel

@testable import TransferCore

struct S3CompletionTests {
    @Test(arguments: [
        "<CompleteMultipartUploadResult><Location>Error</Location></CompleteMultipartUploadResult>", "", "  ", "<",
        "{}",
        "<?xml version=\"1.0\"?><!-- <Error> --><Result/>",
    ])
    func otherDocumentsAreNoErrors(_ text: String) {
        #expect(S3MultipartUpload.error(Array(text.utf8)) == nil)
    }

    @Test func errorsAreReadWhateverComesBefore() {
        let found = S3MultipartUpload.error(
            Array("<?xml version='1.0'?><Error xmlns=\"x\"><Code>SlowDown</Code></Error>".utf8))
        #expect(found?.code == "SlowDown")
        #expect(found?.message == nil)
        #expect(S3MultipartUpload.error(Array("<Error/>".utf8))?.code == "unknown")
    }

    @Test(arguments: [
        ("EntityTooSmall", "partSize"), ("EntityTooLarge", "partSize"), ("NoSuchUpload", "another multipart upload"),
        ("NoSuchBucket", "bucket"), ("SignatureDoesNotMatch", "signed"), ("ExpiredToken", "expired"),
        ("AccessDenied", "expired"), ("SomethingNew", "manual"),
    ])
    func eachErrorSaysWhatToDo(code: String, advice: String) {
        let failure = S3MultipartUpload.failure(
            code, "Why.", 400, ResponseHead(url: ""), now: Timestamp(milliseconds: 0))
        #expect(failure.error.message.hasPrefix("The store answered \(code): Why.; "))
        #expect(failure.error.message.contains(advice))
        #expect(!failure.error.retryable)
    }

    @Test func entityTagsAreEscaped() {
        let text = String(decoding: S3MultipartUpload.completion([2: "\"<&>\"", 1: "a"]), as: UTF8.self)
        #expect(
            text.contains("<ETag>a</ETag></Part><Part><PartNumber>2</PartNumber><ETag>&quot;&lt;&amp;&gt;&quot;</ETag>")
        )
    }
}
