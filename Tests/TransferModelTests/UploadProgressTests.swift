import FoundationEssentials
import Testing
import TransferModel

struct UploadProgressTests {
    @Test func survivesStorage() throws {
        var progress = UploadProgress(
            uploadProtocol: .s3Multipart, resourceURL: "https://example.org/1", offset: 7,
            source: SourceIdentity(device: .max, inode: 2, size: 9, modified: -1),
            createdAt: Timestamp(milliseconds: 1_800_000_000_123))
        progress.partETags = [1: "\"a\"", 10_000: "b"]
        progress.awaitsAnswer = true
        progress.interopVersion = 6
        progress.longestAppend = 100
        progress.remoteBefore = RemoteFile(size: 3, modificationTime: 4)
        progress.expiresAt = Timestamp(milliseconds: 1_900_000_000_000)
        let data = JSONCoding.encode(progress)
        #expect(try JSONCoding.decode(UploadProgress.self, from: data) == progress)
    }

    @Test func s3IsReadStrictly() throws {
        let good = #"{"partURLs":["https://a/1"],"partSize":5,"completeURL":"https://a/2"}"#
        let read = try JSONCoding.decode(S3Upload.self, from: Array(good.utf8))
        #expect(read == S3Upload(partURLs: ["https://a/1"], partSize: 5, completeURL: "https://a/2"))
        let odd = #"{"partURLs":[],"partSize":5,"completeURL":"x","region":"eu"}"#
        #expect(throws: TransferError.self) { try JSONCoding.decode(S3Upload.self, from: Array(odd.utf8)) }
        #expect(throws: TransferError.self) {
            try JSONCoding.decode(S3Upload.self, from: Array(#"{"partURLs":[]}"#.utf8))
        }
    }
}
