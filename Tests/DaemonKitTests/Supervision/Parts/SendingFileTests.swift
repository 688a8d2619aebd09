import Foundation
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import DaemonKit
@testable import FileKit

struct SendingFileTests {
    private let folder: TemporaryFolder
    private let access = FileAccess(mode: .user)
    private let owner = UserID(getuid())

    init() throws { folder = try TemporaryFolder() }

    private func identity(_ path: String) throws -> SourceIdentity {
        try SendingFile.open(path, as: nil, access, owner: owner).identity
    }

    @Test func anUntouchedFileIsOpened() throws {
        let path = folder.file("f")
        try Files.write(path, "0123456789")
        let recorded = try identity(path)
        #expect(recorded.size == 10)
        #expect(!recorded.isKept)
        #expect(try SendingFile.open(path, as: recorded, access, owner: owner).identity == recorded)
    }

    @Test(arguments: ["longer", "touched", "replaced"])
    func anyChangeIsNoticed(how: String) throws {
        let path = folder.file("f")
        try Files.write(path, "0123456789")
        let recorded = try identity(path)
        switch how {
        case "longer": try Files.write(path, "0123456789+")
        case "touched":
            var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
            utimes(path, &times)
        default:
            try Files.write(folder.file("g"), "0123456789")
            rename(folder.file("g"), path)
        }
        let error = #expect(throws: TransferError.self) {
            try SendingFile.open(path, as: recorded, access, owner: owner)
        }
        #expect(error?.code == .sourceChanged)
    }

    @Test func theSystemDaemonReadsOnlyBelowTheOwnersFolder() throws {
        try Files.write(folder.file("secret"), "x")
        let confined = FileAccess(mode: .system(root: folder.file("files")))
        let error = #expect(throws: TransferError.self) {
            try SendingFile.open(folder.file("secret"), as: nil, confined, owner: owner)
        }
        #expect(error?.code == .permissionDenied)
    }

    @Test func aKeptBodyIsSpooledWithoutAName() throws {
        let bytes = Content(seed: 1, size: 100_000).bytes
        let sending = try SendingFile.spooled(bytes, in: folder.path)
        #expect(Files.names(in: folder.path) == [])
        #expect(sending.identity == .kept(100_000))
        #expect(sending.identity.isKept)
        var read = [UInt8](repeating: 0, count: bytes.count)
        #expect(pread(sending.file.fileDescriptor, &read, read.count, 0) == bytes.count)
        #expect(read == bytes)
    }

    @Test func digestsAreOfWhatTheyName() throws {
        let bytes = Content(seed: 2, size: 3_000_000).bytes
        let sending = try SendingFile.spooled(bytes, in: folder.path)
        var exchange = Exchange(url: "http://x/", judge: CaptureJudge())
        exchange.payload = .framed(head: [1, 2], offset: 1_500_000, length: 1_200_000, tail: [3])
        exchange.digests = [
            PayloadDigest(.content, .sha256),
            PayloadDigest(.representation, .sha512),
            PayloadDigest(.upload, .sha1),
        ]
        let fields = try PayloadHasher.fields(of: exchange, sending) { false }
        let payload = [1, 2] + bytes[1_500_000..<2_700_000] + [3]
        #expect(fields.map(\.name) == ["Content-Digest", "Repr-Digest", "Upload-Checksum"])
        #expect(try fields[0].value == "sha-256=:\(digest(.sha256, payload)):")
        #expect(try fields[1].value == "sha-512=:\(digest(.sha512, bytes)):")
        #expect(try fields[2].value == "sha1 \(digest(.sha1, payload))")
    }

    /// The digest of the bytes in one piece, in base64.
    private func digest(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) throws -> String {
        Data(try FileHasher.digest(algorithm, of: bytes)).base64EncodedString()
    }

    @Test func strategiesSeeAKeptBodyAsAFile() {
        var spec = TaskSpec()
        #expect(spec.namingKeptBody.body == nil)
        spec.body = RequestBody()
        #expect(spec.namingKeptBody.body?.file != nil)
        spec.body?.text = "x"
        #expect(spec.namingKeptBody == spec)
    }
}
