import Testing
import TransferModel

@testable import FileKit

@Suite struct ResumeDataRangesTests {
    private func text(_ ranges: [ByteRange], total: ByteCount? = 100) -> String {
        let checkpoint = Checkpoint(
            offset: 10, total: total, partPath: "/tmp/.f.dldpart", device: 1, inode: 2, ranges: ranges)
        return ResumeData(
            url: "https://example.org/f", destination: Destination(path: "/tmp/f"), checkpoint: checkpoint
        ).encoded()
    }

    @Test func gapsComeBack() throws {
        let ranges = [ByteRange(20, 30), ByteRange(40, 100)]
        #expect(try ResumeData(decoding: text(ranges)).checkpoint?.ranges == ranges)
    }

    @Test(arguments: [
        [ByteRange(10, 20)], [ByteRange(5, 20)], [ByteRange(30, 30)], [ByteRange(30, 20)], [ByteRange(20, 101)],
        [ByteRange(20, 40), ByteRange(30, 50)], [ByteRange(20, 40), ByteRange(40, 50)],
        [ByteRange(60, 70), ByteRange(20, 40)],
    ])
    func impossibleOnesAreRefused(_ ranges: [ByteRange]) throws {
        let text = text(ranges)
        #expect(throws: TransferError.self) { try ResumeData(decoding: text) }
    }

    @Test func rangesNeedALength() throws {
        let text = text([ByteRange(20, 30)], total: nil)
        #expect(throws: TransferError.self) { try ResumeData(decoding: text) }
    }
}
