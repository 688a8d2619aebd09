import Testing
import TransferModel

@testable import TransferCore

struct SpecRulesUploadTests {
    private func refused(_ url: String = "https://example.org/f", _ change: (inout TaskSpec) -> Void) -> String? {
        var spec = TaskSpec()
        spec.kind = .upload
        spec.url = url
        spec.source = SourceFile(path: "/f")
        return refusal(of: spec, change)?.details["field"]?.stringValue
    }

    @Test func goodOnesPass() {
        #expect(refused { _ in } == nil)
        #expect(refused("sftp://example.org/f") { _ in } == nil)
        #expect(
            refused {
                $0.uploadProtocol = "tus"; $0.uploadChecksum = .md5; $0.uploadMetadata = ["a": "b c"]
            } == nil)
        #expect(
            refused {
                $0.formFields = ["a": "b"]; $0.formField = "f"
            } == nil)
        #expect(
            refused {
                $0.source = nil; $0.body = RequestBody(); $0.body?.text = "x"
            } == nil)
        #expect(
            refused {
                $0.uploadProtocol = "s3Multipart"
                $0.s3 = S3Upload(partURLs: ["https://a/1"], partSize: 5, completeURL: "https://a/2")
            } == nil)
    }

    @Test func badOnesAreNamed() {
        let cases: [(String, (inout TaskSpec) -> Void)] = [
            ("source", { $0.source = nil }),
            (
                "source",
                {
                    $0.body = RequestBody(); $0.body?.text = "x"
                }
            ),
            ("source.path", { $0.source?.path = "f" }), ("source.path", { $0.source?.path = "/f/" }),
            ("uploadProtocol", { $0.uploadProtocol = "file" }), ("interopVersion", { $0.interopVersion = 7 }),
            ("uploadCreation", { $0.uploadCreation = "brave" }), ("method", { $0.method = "GET" }),
            (
                "formField",
                {
                    $0.uploadProtocol = "put"; $0.formField = "f"
                }
            ),
            (
                "uploadChecksum",
                {
                    $0.uploadProtocol = "put"; $0.uploadChecksum = .md5
                }
            ),
            ("uploadMetadata", { $0.uploadMetadata = ["a b": ""] }), ("contentType", { $0.contentType = "a\r\nb" }),
            ("fileName", { $0.fileName = "" }), ("s3", { $0.uploadProtocol = "s3Multipart" }),
            (
                "s3",
                {
                    $0.uploadProtocol = "put";
                    $0.s3 = S3Upload(partURLs: ["https://a/1"], partSize: 5, completeURL: "https://a/2")
                }
            ),
            ("s3.partURLs", { $0.s3 = S3Upload(partURLs: [], partSize: 5, completeURL: "https://a/2") }),
            ("s3.partURLs[0]", { $0.s3 = S3Upload(partURLs: ["ftp://a/1"], partSize: 5, completeURL: "https://a/2") }),
            ("s3.completeURL", { $0.s3 = S3Upload(partURLs: ["https://a/1"], partSize: 5, completeURL: "x") }),
            ("s3.partSize", { $0.s3 = S3Upload(partURLs: ["https://a/1"], partSize: 0, completeURL: "https://a/2") }),
            ("url", { $0.url = "file:///x" }),
            (
                "uploadProtocol",
                {
                    $0.url = "ftp://a/x"; $0.uploadProtocol = "tus"
                }
            ),
            ("source", { $0.kind = .download }), ("source", { $0.kind = .data }),
            (
                "url",
                {
                    $0.kind = .data; $0.source = nil; $0.url = "ftp://a/x"
                }
            ),
            (
                "interopVersion",
                {
                    $0.kind = .data; $0.source = nil; $0.interopVersion = 8
                }
            ),
        ]
        for (field, change) in cases { #expect(refused { change(&$0) } == "tasks[3].\(field)") }
    }
}
