import Testing
import TransferModel

@testable import TransferCore

struct RetentionGateTests {
    private static let year: Seconds = 34_560_000

    private func expect(
        _ gate: inout RetentionGate, _ now: ClockReading, _ answer: Bool, at place: SourceLocation = #_sourceLocation
    ) {
        let allows = gate.allows(at: now)
        #expect(allows == answer, sourceLocation: place)
    }

    @Test func anOrdinaryClockIsBelieved() {
        var gate = RetentionGate(lastKnown: reading(-86400).wall, at: reading())
        for hour in 0..<10_000 { expect(&gate, reading(Double(hour) * 3600), true) }
        var new = RetentionGate(lastKnown: nil, at: reading())
        expect(&new, reading(1), true)
    }

    @Test func aLeapForwardHasToStand() {
        var gate = RetentionGate(lastKnown: reading().wall, at: reading())
        expect(&gate, reading(60), true)
        expect(&gate, reading(120).set(by: Self.year), false)
        expect(&gate, reading(3600).set(by: Self.year), false)
        expect(&gate, reading(3720).set(by: Self.year), true)
        expect(&gate, reading(3780).set(by: Self.year), true)
    }

    @Test func oneThatIsTakenBackDoesNoHarm() {
        var gate = RetentionGate(lastKnown: reading().wall, at: reading())
        expect(&gate, reading(60).set(by: Self.year), false)
        expect(&gate, reading(120), true)
        expect(&gate, reading(180).set(by: Self.year), false)
    }

    /// Either the machine was off or its clock is wrong. The daemon cannot tell these apart at once.
    @Test func afterALongTimeWithoutADaemonItWaitsToo() {
        var gate = RetentionGate(lastKnown: reading().wall.advanced(by: Seconds(-Self.year.rawValue)), at: reading())
        expect(&gate, reading(), false)
        expect(&gate, reading(3600), true)
        // The clock was wrong and is then corrected.
        var wrong = RetentionGate(lastKnown: reading().wall, at: reading().set(by: Self.year))
        expect(&wrong, reading(1).set(by: Self.year), false)
        expect(&wrong, reading(60), true)
    }

    @Test func stepsThatAreSmallAreTakenAsTheyAre() {
        var gate = RetentionGate(lastKnown: reading().wall, at: reading())
        expect(&gate, reading(60).set(by: 3600), true)
        expect(&gate, reading(120).set(by: -3600), true)
        expect(&gate, reading(180).set(by: 518_400), true)
    }
}
