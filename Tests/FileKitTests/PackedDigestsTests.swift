import Testing
import TransferModel

@testable import FileKit

struct PackedDigestsTests {
    @Test(arguments: DigestAlgorithm.allCases)
    func theyComeBackInHalfTheRoom(algorithm: DigestAlgorithm) throws {
        let digits = Array("0123456789abcdef")
        let values = (0..<5).map { piece in
            String((0..<algorithm.hexLength).map { digits[(piece * 7 + $0 * 5) % 16] })
        }
        let pieces = PieceDigests(algorithm: algorithm, length: 1000, values: values)
        let packed = try #require(PackedDigests(pieces))
        #expect(packed.unpacked == pieces)
        #expect(Base64.decode(packed.digests)?.count == 5 * algorithm.hexLength / 2)
    }

    @Test func whatIsNoDigestIsNotPacked() {
        #expect(PackedDigests(PieceDigests(algorithm: .md5, length: 1, values: ["0g"])) == nil)
        #expect(PackedDigests(PieceDigests(algorithm: .md5, length: 1, values: ["012"])) == nil)
    }
}
