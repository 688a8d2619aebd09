import Testing
import TransferModel

@testable import TransferCore

struct PieceRepairTests {
    private func repair() throws -> PieceRepair {
        let pieces = PieceDigests(algorithm: .sha1, length: 10, values: Array(repeating: "00", count: 4))
        return PieceRepair(try PieceMap(pieces, of: 35), pieces.algorithm)
    }

    private func ranges(_ start: Int64, _ end: Int64) -> ByteRangeSet {
        ByteRangeSet([ByteRange(ByteCount(start), ByteCount(end))])
    }

    @Test func whoeverBroughtSomeOfAWrongPieceIsAvoided() throws {
        var repair = try repair()
        let brought: [String?: ByteRangeSet] = [nil: ranges(0, 12), "m": ranges(12, 20), "n": ranges(20, 35)]
        #expect(
            repair.next(wrong: [1], brought: brought)
                == .refetch(keeping: ByteRangeSet([ByteRange(0, 10), ByteRange(20, 35)]), avoiding: [nil, "m"]))
        #expect(
            repair.next(wrong: [3], brought: brought) == .refetch(keeping: ranges(0, 30), avoiding: [nil, "m", "n"]))
    }

    @Test func whoBroughtAWrongPieceAloneIsToBlameForSharedOnes() throws {
        var repair = try repair()
        let brought: [String?: ByteRangeSet] = [nil: ranges(0, 12), "m": ranges(12, 35)]
        guard case .refetch(_, let avoided) = repair.next(wrong: [1, 2], brought: brought) else { return }
        #expect(avoided == ["m"])
    }

    @Test func unknownBringersAreAskedAgain() throws {
        var repair = try repair()
        #expect(repair.next(wrong: [0], brought: [:]) == .refetch(keeping: ranges(10, 35), avoiding: []))
    }

    @Test func itEnds() throws {
        var repair = try repair()
        for _ in 0..<PieceRepair.limit {
            guard case .refetch = repair.next(wrong: [2], brought: [:]) else {
                Issue.record("gave up too soon")
                return
            }
        }
        guard case .giveUp(let error) = repair.next(wrong: [2], brought: [:]) else {
            Issue.record("goes on for ever")
            return
        }
        #expect(error.code == .integrityChecksum && error.details["pieces"] == [2])
        #expect(error.message.contains("Piece 2 (bytes 20 to 29)"))
    }

    @Test func manyWrongPiecesAreCounted() throws {
        let error = try repair().error([0, 1, 3])
        #expect(error.message.contains("3 pieces have") && error.details["pieces"] == [0, 1, 3])
    }
}
