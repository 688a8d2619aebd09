import Testing
import TransferModel

@testable import TransferCore

struct PieceMapTests {
    private func map(_ total: Int64, _ length: Int64, _ count: Int) throws -> PieceMap {
        let pieces = PieceDigests(
            algorithm: .sha256, length: ByteCount(length), values: Array(repeating: "00", count: count))
        return try PieceMap(pieces, of: ByteCount(total))
    }

    @Test(arguments: [(10, 4, 3), (12, 4, 3), (1, 4, 1), (9, 4, 3), (4, 4, 1), (1, Int64.max, 1)])
    func piecesTileTheFile(_ total: Int64, _ length: Int64, _ count: Int) throws {
        let map = try map(total, length, count)
        var end = ByteCount.zero
        for piece in 0..<count {
            #expect(map.range(of: piece).start == end && !map.range(of: piece).isEmpty)
            end = map.range(of: piece).end
        }
        #expect(end == ByteCount(total))
    }

    @Test(arguments: [(10, 4, 2), (10, 4, 4), (12, 4, 4), (0, 4, 1), (13, 4, 3)])
    func otherLengthsAreRefused(_ total: Int64, _ length: Int64, _ count: Int) {
        let error = #expect(throws: TransferError.self) { try self.map(total, length, count) }
        #expect(error?.code == .integrityChecksum)
    }

    /// For every subset of the pieces, the kept and the missing ranges make up the file.
    @Test func allButSomeIsTheRest() throws {
        let map = try map(22, 4, 6)
        for subset in 0..<64 {
            let wrong = (0..<6).filter { subset & 1 << $0 != 0 }
            let kept = map.all(but: wrong)
            var whole = kept
            for piece in wrong { whole.insert(map.range(of: piece)) }
            #expect(whole.covers(22))
            #expect(kept.count == ByteCount(22) - wrong.reduce(.zero) { $0 + map.range(of: $1).count })
        }
    }
}
