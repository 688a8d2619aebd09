import Testing
import TransferModel

@testable import TransferCore

struct UploadChoiceTests {
    private func choice(_ change: (inout TaskSpec) -> Void) throws -> UploadProtocol? {
        var spec = TaskSpec()
        change(&spec)
        return try UploadProtocol.chosen(by: spec)
    }

    @Test func namesAreTheContracts() throws {
        #expect(
            Set(UploadProtocol.names)
                == ["auto", "put", "post", "multipart", "tus", "resumable", "contentRange", "s3Multipart"])
        for name in UploadProtocol.names where name != "auto" {
            #expect(try choice { $0.uploadProtocol = name }?.rawValue == name)
        }
        #expect(try choice { $0.uploadProtocol = "auto" } == nil)
        #expect(throws: TransferError.self) { try choice { $0.uploadProtocol = "file" } }
        #expect(throws: TransferError.self) { try choice { $0.uploadProtocol = "gopher" } }
    }

    @Test func otherFieldsSayItToo() throws {
        #expect(try choice { $0.formField = "f" } == .multipart)
        #expect(try choice { $0.formFields = [:] } == .multipart)
        #expect(try choice { $0.method = "post" } == .post)
        #expect(try choice { $0.method = "PUT" } == .put)
        #expect(try choice { $0.s3 = S3Upload(partURLs: [], partSize: 1, completeURL: "") } == .s3Multipart)
        #expect(try choice { _ in } == nil)
    }
}
