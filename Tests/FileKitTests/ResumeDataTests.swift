import Glibc
import JSONRPC
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import FileKit

struct ResumeDataTests {
    private let fixture: FilesFixture
    private let plan: DestinationPlan
    private let destination: Destination

    init() throws {
        fixture = try FilesFixture()
        var destination = Destination()
        destination.path = fixture.temporary.file("a.bin")
        self.destination = destination
        plan = try DestinationPlan(destination)
    }

    private func resumeData(part name: String = FilesFixture.partName, offset: ByteCount = 4) throws -> ResumeData {
        let identity = try fixture.identity(of: name)
        return ResumeData(
            url: "https://example.org/a.bin", destination: destination,
            checkpoint: Checkpoint(
                offset: offset, total: 100, validators: Validators(etag: "\"v1\""),
                partPath: fixture.temporary.file(name), device: identity.device, inode: identity.inode))
    }

    private func open(_ data: ResumeData) throws -> Checkpoint? {
        try data.claimablePart(plan: plan, access: fixture.access, owner: FilesFixture.me)
    }

    @Test func itComesBackAsItWent() throws {
        _ = try fixture.makePart()
        var data = try resumeData()
        data.mirrors = ["https://m/a.bin"]
        data.checkpoint?.mirror = "https://m/a.bin"
        data.size = 100
        data.pieces = PackedDigests(PieceDigests(algorithm: .md5, length: 60, values: [Self.md5, Self.md5]))
        #expect(try ResumeData(decoding: data.encoded()) == data)
        data.checkpoint?.mirror = ""
        #expect(throws: TransferError.self) { try ResumeData(decoding: data.encoded()) }
    }

    private static let md5 = "0123456789abcdef0123456789abcdef"

    /// A task that could be added can be resumed: the text from `task.resumeData` fits into one line, and the daemon
    /// accepts it.
    @Test(arguments: DigestAlgorithm.allCases)
    func asManyPiecesAsATaskMayNameFitIntoALine(algorithm: DigestAlgorithm) throws {
        _ = try fixture.makePart()
        var data = try resumeData()
        // In base64 all of these become slashes, which JSON may escape.
        let digest = String(repeating: "f", count: algorithm.hexLength)
        let values = Array(repeating: digest, count: min(Bounds.pieces, Bounds.pieceDigits / algorithm.hexLength))
        data.pieces = PackedDigests(PieceDigests(algorithm: algorithm, length: 1_048_576, values: values))
        let text = data.encoded()
        // The other members of the line are short, except for the URLs.
        #expect(text.utf8.count < RPCLimits().line - (256 << 10))
        #expect(try ResumeData(decoding: text) == data)
    }

    @Test func digestsThatAreNotWholeAreRefused() throws {
        _ = try fixture.makePart()
        var data = try resumeData()
        data.pieces = PackedDigests(PieceDigests(algorithm: .md5, length: 60, values: [Self.md5]))
        data.pieces?.digests = [UInt8](repeating: 7, count: 15).base64
        #expect(code { _ = try ResumeData(decoding: data.encoded()) } == .badField)
    }

    @Test(arguments: ["", "no base64!", "bm90IGpzb24=", "e30="])
    func whateverElseIsRefused(text: String) {
        #expect(code { _ = try ResumeData(decoding: text) } == .badField)
    }

    /// A recursive reader would crash the process with such a text.
    @Test func whatIsNestedDeeplyIsRefused() {
        let text = Array(("{\"version\":" + String(repeating: "[", count: 512)).utf8).base64
        #expect(code { _ = try ResumeData(decoding: text) } == .badField)
    }

    @Test func anotherVersionOrAnImpossibleOffsetIsRefused() throws {
        _ = try fixture.makePart()
        var data = try resumeData()
        data.version = 2
        #expect(code { _ = try ResumeData(decoding: data.encoded()) } == .badField)
        #expect(code { _ = try ResumeData(decoding: try resumeData(offset: -1).encoded()) } == .badField)
        #expect(code { _ = try ResumeData(decoding: try resumeData(offset: 101).encoded()) } == .badField)
    }

    @Test func aPartThatIsThereMayBeClaimed() throws {
        _ = try fixture.makePart()
        let data = try resumeData()
        #expect(try open(data) == data.checkpoint)
        unlink(fixture.temporary.file(FilesFixture.partName))
        #expect(try open(data) == nil)
    }

    @Test func anyOtherFileIsRefused() throws {
        try Files.write(fixture.temporary.file("diary.txt"), "private")
        #expect(code { _ = try open(try resumeData(part: "diary.txt")) } == .badField)

        _ = try fixture.makePart()
        #expect(link(fixture.temporary.file(FilesFixture.partName), fixture.temporary.file("other")) == 0)
        #expect(code { _ = try open(try resumeData()) } == .badField)
    }

    @Test func aLinkOrAPartElsewhereIsRefused() throws {
        try Files.write(fixture.temporary.file("diary.txt"), "private")
        #expect(symlink("diary.txt", fixture.temporary.file(FilesFixture.partName)) == 0)
        #expect(code { _ = try open(try resumeData()) } == .badField)

        let elsewhere = try fixture.temporary.folder("elsewhere") + "/" + FilesFixture.partName
        try Files.write(elsewhere, "private")
        unlink(fixture.temporary.file(FilesFixture.partName))
        _ = try fixture.makePart()
        var data = try resumeData()
        data.checkpoint?.partPath = elsewhere
        #expect(code { _ = try open(data) } == .badField)
    }

    @Test func aReplacedOrShorterPartStartsFromZero() throws {
        _ = try fixture.makePart()
        var data = try resumeData()
        data.checkpoint?.inode &+= 1
        #expect(try open(data) == nil)
        #expect(try open(try resumeData(offset: 8)) == nil)
        data.checkpoint = nil
        #expect(try open(data) == nil)
    }
}
