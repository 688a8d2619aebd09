import Testing
import TransferModel

@testable import TransferCore

@Suite struct EventSharesTests {
    private let alice = UserID(1)
    private let bob = UserID(2)
    private let carol = UserID(3)

    @Test func nobodyLosesAnythingBelowTheLimit() {
        #expect([alice: 60, bob: 40].excess(keeping: 100).isEmpty)
        #expect([UserID: Int]().excess(keeping: 1).isEmpty)
    }

    @Test func whoHasTheMostLosesFirst() {
        #expect([alice: 40_000, bob: 300].excess(keeping: 1000) == [alice: 39_300])
        #expect([alice: 50, bob: 45, carol: 20].excess(keeping: 100) == [alice: 10, bob: 5])
    }

    @Test func equalOwnersLoseTheSame() {
        let excess = [alice: 50, bob: 50, carol: 50].excess(keeping: 100)
        #expect(excess.values.reduce(0, +) == 50)
        #expect(excess.values.allSatisfy { (16...17).contains($0) })
    }
}
