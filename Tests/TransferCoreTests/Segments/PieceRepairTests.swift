import Testing
import TransferModel

@testable import TransferCore

struct PieceRepairTests {
    private static let failure = AttemptFailure(
        error: TransferError(.networkConnect, "x"), disposition: .transient(after: nil))

    private func repair(_ places: [String?] = [nil, "m", "n"]) throws -> PieceRepair {
        let pieces = PieceDigests(algorithm: .sha1, length: 10, values: Array(repeating: "00", count: 4))
        return PieceRepair(try PieceMap(pieces, of: 35), pieces.algorithm, places: places)
    }

    /// Returns the mirrors that are tried in turn while these pieces stay wrong, and the failure at the end.
    private func tour(
        _ repair: inout PieceRepair, wrong: [Int] = [1], _ brought: [String?: ByteRangeSet] = [:],
        failing: Set<String?> = []
    ) -> (asked: [String?], end: AttemptFailure?) {
        var asked: [String?] = []
        var decision = repair.next(wrong: wrong, brought: brought)
        while asked.count < 100 {
            switch decision {
            case .giveUp(let failure): return (asked, failure)
            case .refetch(_, let place):
                asked.append(place)
                decision =
                    failing.contains(place)
                    ? repair.next(wrong: wrong, after: Self.failure) : repair.next(wrong: wrong, brought: brought)
            }
        }
        return (asked, nil)
    }

    private func ranges(_ start: Int64, _ end: Int64) -> ByteRangeSet {
        ByteRangeSet([ByteRange(ByteCount(start), ByteCount(end))])
    }

    @Test func onlyWhatIsWrongIsFetchedAndNotFromWhoBroughtIt() throws {
        var repair = try repair()
        let brought: [String?: ByteRangeSet] = [nil: ranges(0, 12), "m": ranges(12, 20), "n": ranges(20, 35)]
        #expect(
            repair.next(wrong: [1], brought: brought)
                == .refetch(keeping: ByteRangeSet([ByteRange(0, 10), ByteRange(20, 35)]), from: "n"))
    }

    @Test func whoBroughtAWrongPieceAloneIsToBlameForSharedOnes() throws {
        var repair = try repair([nil, "m"])
        let brought: [String?: ByteRangeSet] = [nil: ranges(0, 12), "m": ranges(12, 35)]
        #expect(tour(&repair, wrong: [1, 2], brought).asked.first == .some(nil))
        var other = try self.repair([nil, "m"])
        let swapped: [String?: ByteRangeSet] = [nil: ranges(12, 35), "m": ranges(0, 12)]
        #expect(tour(&other, wrong: [1, 2], swapped).asked.first == .some("m"))
    }

    /// Two mirrors brought the piece together. Each is tried for the entire piece before the repair gives up.
    @Test(arguments: 2...9)
    func everyPlaceIsAskedForTheWholePiece(_ count: Int) throws {
        let places: [String?] = [nil] + (1..<count).map { "m\($0)" }
        var repair = try repair(places)
        let brought: [String?: ByteRangeSet] = [nil: ranges(0, 15), "m1": ranges(15, 35)]
        let (asked, end) = tour(&repair, brought)
        #expect(Array(asked.prefix(count)) == places.dropFirst(2) + [nil, "m1"])
        #expect(asked.count == max(PieceRepair.limit, count))
        #expect(end?.disposition == .permanent && end?.error.code == .integrityChecksum)
        #expect(end?.error.details["pieces"] == [1])
        #expect(end?.error.message.contains("Piece 1 (bytes 10 to 19)") == true)
    }

    @Test func theOnlyPlaceIsAskedAgainAndNotForEver() throws {
        var repair = try repair([nil])
        #expect(tour(&repair).asked == Array(repeating: nil, count: PieceRepair.limit))
    }

    @Test func aPlaceThatFailsIsNotAskedAgain() throws {
        var repair = try repair()
        let (asked, end) = tour(&repair, failing: ["m"])
        #expect(asked == [nil, "m", "n", nil])
        #expect(end?.error.code == .integrityChecksum, "two others gave it, and gave it wrong")
    }

    @Test func whereNobodyCouldGiveItThatIsTheFailure() throws {
        var repair = try repair()
        let (asked, end) = tour(&repair, failing: [nil, "m", "n"])
        #expect(asked == [nil, "m", "n"])
        #expect(end == Self.failure)
    }

    @Test func manyWrongPiecesAreCounted() throws {
        let error = try repair().error([0, 1, 3])
        #expect(error.message.contains("3 pieces have") && error.details["pieces"] == [0, 1, 3])
    }
}
