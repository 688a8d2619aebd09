import CurlEngine
import Testing
import TransferCore
import TransferModel

@testable import DaemonKit
@testable import FileKit

@Suite struct MirrorSearchTests {
    private let failure = AttemptFailure(error: TransferError(.httpStatus, "x"), disposition: .permanent)

    private func inquiry(_ spec: TaskSpec) -> Inquiry {
        let request = StrategyRequest(spec: spec, now: Timestamp(milliseconds: 0))
        return Inquiry(request: request, others: OtherMirrors(base: request, places: [], hasDigest: false))
    }

    private func search() throws -> MirrorSearch {
        var spec = TaskSpec()
        spec.url = "http://a/f"
        spec.mirrors = ["http://b/f", "http://c/f"]
        let mirrors = Mirrors(spec)
        let choice = MirrorChoice(
            count: mirrors.count, held: nil, sharesBytes: false, failuresInRow: 0, integrityRestarts: 0)
        let pinned = try PinnedFiles(
            Boxed(wrappedValue: NetworkOptions()), "http://a/f", FileAccess(mode: .user), owner: UserID(0))
        return MirrorSearch(mirrors, pinned, choice, inquiry(spec), only: nil)
    }

    private let hand = PartInHand(
        HeldPart(part: PartFile(planned: "/p", device: 0, directory: -1, keeper: NoFolder()), checkpoint: nil))

    private final class NoFolder: Sendable {}

    @Test func itTurnsFromPlaceToPlace() throws {
        let search = try search()
        #expect(search.failure == nil)
        #expect(search.next(after: failure, holdsBytes: false) == 1)
        let second = inquiry(TaskSpec())
        search.turn(to: 1, second)
        #expect(search.inquiry === second)
        #expect(search.next(after: failure, holdsBytes: false) == 2)
        search.turn(to: 2, second)
        #expect(search.next(after: failure, holdsBytes: false) == nil)
        #expect(search.failure == failure)
    }

    @Test func placesThatWereAskedBesideAreNotTurnedTo() throws {
        let search = try search()
        search.asked(["http://b/f"], ["http://b/f": ByteRangeSet([ByteRange(0, 5)])], hand)
        #expect(search.next(after: failure, holdsBytes: false) == 2)
        #expect(hand.brought["http://b/f"] == ByteRangeSet([ByteRange(0, 5)]))
    }
}
