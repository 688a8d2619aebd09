import Testing
import TransferModel

@testable import TransferCore

struct WallClockWatchTests {
    private func expect(
        _ watch: inout WallClockWatch, _ now: ClockReading, _ jump: Seconds?,
        at place: SourceLocation = #_sourceLocation
    ) {
        let found = watch.jump(at: now)
        #expect(found == jump, sourceLocation: place)
    }

    @Test func timeThatGoesByIsNoJump() {
        var watch = WallClockWatch(at: reading())
        for seconds in stride(from: 0.0, through: 1e8, by: 1e6) { expect(&watch, reading(seconds), nil) }
    }

    @Test(arguments: [-3600, 3600, 34_560_000, -34_560_000, 1.5, -1.5] as [Seconds])
    func aJumpIsToldOnce(_ jump: Seconds) {
        var watch = WallClockWatch(at: reading())
        let set = reading(10).set(by: jump)
        expect(&watch, set, jump)
        expect(&watch, set, nil)
        expect(&watch, reading(5000).set(by: jump), nil)
        expect(&watch, reading(5001), Seconds(-jump.rawValue))
    }

    /// A slow correction of the clock is noticed when it adds up, however often the watch checks.
    @Test func manySmallStepsAddUp() {
        var watch = WallClockWatch(at: reading())
        let jumps = (1...30).compactMap { watch.jump(at: reading(Double($0)).set(by: Seconds(-0.1 * Double($0)))) }
        #expect(!jumps.isEmpty)
        #expect(jumps.allSatisfy { $0 < 0 && $0 > -1.3 })
    }
}

extension ClockReading {
    /// Returns the reading after the wall clock is set. The boot clock does not change.
    func set(by jump: Seconds) -> ClockReading { ClockReading(wall: wall.advanced(by: jump), boot: boot) }
}
