import Testing
import TransferModel

@testable import TransferCore

struct MirrorChoiceTests {
    private static let lost = TransferError(.networkLost, "x")
    private static let transient = AttemptFailure(error: lost, disposition: .transient(after: nil))
    private static let network = AttemptFailure(error: lost, disposition: .network)
    private static let disk = AttemptFailure(error: TransferError(.diskFull, "x"), disposition: .disk)
    private static let permanent = AttemptFailure(error: TransferError(.httpStatus, "x"), disposition: .permanent)

    private func choice(
        _ count: Int = 3, held: Int? = nil, shares: Bool = false, failures: Int = 0, restarts: Int = 0
    ) -> MirrorChoice {
        MirrorChoice(
            count: count, held: held, sharesBytes: shares, failuresInRow: failures, integrityRestarts: restarts)
    }

    /// If no bytes are held, every mirror is tried once and in order, whatever the failure.
    @Test(arguments: [transient, network, permanent])
    func everyPlaceIsAskedOnce(_ failure: AttemptFailure) {
        for count in 1...5 {
            var choice = choice(count)
            var asked = [choice.first]
            while let last = asked.last, let next = choice.next(after: failure, of: last, holdsBytes: false) {
                asked.append(next)
            }
            #expect(asked == Array(0..<count))
            #expect(choice.failure?.disposition == failure.disposition)
        }
    }

    @Test func aDiskThatFailsIsNoPlacesFault() {
        var choice = choice()
        #expect(choice.next(after: Self.disk, of: 0, holdsBytes: false) == nil)
        #expect(choice.failure == Self.disk)
    }

    @Test func heldBytesKeepTheirPlaceThroughStumbles() {
        for (failures, expected) in [(0, nil), (1, nil), (2, 0), (7, 0)] as [(Int, Int?)] {
            var choice = choice(held: 1, failures: failures)
            #expect(choice.first == 1)
            #expect(choice.next(after: Self.transient, of: 1, holdsBytes: true) == expected, "\(failures)")
        }
        var progressing = Self.transient
        progressing.progressed = true
        var choice = choice(held: 1, failures: 7)
        #expect(choice.next(after: progressing, of: 1, holdsBytes: true) == nil, "it brought something")
    }

    @Test func aPlaceThatFailsForGoodIsLeftWithItsBytes() {
        var choice = choice(held: 1)
        #expect(choice.next(after: Self.permanent, of: 1, holdsBytes: true) == 0)
    }

    @Test func underADigestBytesHoldNobody() {
        var choice = choice(held: 2, shares: true)
        #expect(choice.first == 2)
        #expect(choice.next(after: Self.transient, of: 2, holdsBytes: true) == 0)
        #expect(choice.next(after: Self.transient, of: 0, holdsBytes: true) == 1)
        #expect(choice.next(after: Self.transient, of: 1, holdsBytes: true) == nil)
    }

    @Test func afterAWrongDigestTheNextPlaceHasItsTurn() {
        #expect((0...4).map { choice(restarts: $0).first } == [0, 1, 2, 0, 1])
        #expect(choice(held: 0, restarts: 1).first == 0, "what it began it ends")
        var turned = choice(restarts: 2)
        #expect(turned.next(after: Self.permanent, of: 2, holdsBytes: false) == 0)
    }

    @Test func placesThatWereTriedAreNotAskedAgain() {
        var choice = choice(4)
        choice.tried([1, 2])
        #expect(choice.next(after: Self.transient, of: 0, holdsBytes: false) == 3)
    }

    @Test func oneThatMaySucceedLaterKeepsTheTaskAlive() {
        func whole(_ failures: [AttemptFailure]) -> AttemptFailure? { .combined(failures) }
        let later = AttemptFailure(error: Self.lost, disposition: .transient(after: 60))
        let latest = AttemptFailure(error: Self.lost, disposition: .transient(after: 90))
        #expect(whole([]) == nil)
        #expect(whole([Self.permanent, Self.transient])?.disposition == .transient(after: nil))
        #expect(whole([Self.permanent, Self.network, Self.permanent]) == Self.network)
        #expect(whole([Self.network, Self.transient])?.disposition == .transient(after: nil))
        #expect(whole([latest, Self.permanent, later])?.disposition == .transient(after: 60))
        #expect(whole([later, Self.transient])?.disposition == .transient(after: nil))
        #expect(whole([Self.permanent, Self.permanent]) == Self.permanent)
        var progressed = Self.permanent
        progressed.progressed = true
        #expect(whole([Self.transient, progressed])?.progressed == true)
    }
}
