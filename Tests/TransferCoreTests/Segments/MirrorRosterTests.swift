import Testing
import TransferModel

@testable import TransferCore

struct MirrorRosterTests {
    private static let lost = TransferError(.networkLost, "x")
    private let transient = AttemptFailure(error: lost, disposition: .transient(after: nil))
    private let permanent = AttemptFailure(error: TransferError(.httpStatus, "x"), disposition: .permanent)

    private func roster(_ count: Int, bound: Bool = true) -> MirrorRoster {
        var roster = MirrorRoster(connections: 8)
        for _ in 1..<count { roster.add() }
        if bound { for mirror in 0..<count { roster.bound(mirror) } }
        return roster
    }

    /// Opens as many connections as there is room for, but at most `limit`.
    private func open(_ roster: inout MirrorRoster, _ limit: Int, at now: Int64 = 0) -> [MirrorID] {
        var opened: [MirrorID] = []
        while opened.count < limit, roster.room(at: now) > 0, let mirror = roster.pick(at: now) {
            roster.opened(mirror, at: now)
            opened.append(mirror)
        }
        return opened
    }

    @Test func connectionsAreSpreadEvenly() {
        for count in 1...4 {
            var roster = roster(count)
            let opened = open(&roster, count * 3)
            for mirror in 0..<count { #expect(opened.count { $0 == mirror } == 3) }
            #expect(Array(opened.prefix(count)) == Array(0..<count))
        }
    }

    /// The room is the number of mirrors that `pick` returns, whatever happened before.
    @Test(arguments: 1...40)
    func roomAndPickAgree(_ seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var roster = roster(.random(in: 1...4, using: &generator), bound: false)
        var running: [MirrorID] = []
        var now: Int64 = 0
        for _ in 0..<300 {
            now += .random(in: 0...2000, using: &generator)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0...2:
                let room = roster.room(at: now)
                #expect((roster.pick(at: now) != nil) == (room > 0))
                if let mirror = roster.pick(at: now) {
                    roster.opened(mirror, at: now)
                    running.append(mirror)
                    if room < .max { #expect(roster.room(at: now) >= room - 1 || !roster.remaining.contains(mirror)) }
                }
            case 3: if let mirror = running.randomElement(using: &generator) { roster.bound(mirror) }
            case 4:
                guard let place = running.indices.randomElement(using: &generator) else { break }
                let mirror = running.remove(at: place)
                roster.ended(mirror, 100_000, at: now)
                roster.succeeded(mirror)
            case 5:
                guard let place = running.indices.randomElement(using: &generator) else { break }
                let mirror = running.remove(at: place)
                roster.ended(mirror, 0, at: now)
                if !roster.isAlone(mirror) {
                    roster.failed(mirror, Bool.random(using: &generator) ? transient : permanent, at: now)
                }
            default: _ = roster.sampled([:], at: now)
            }
            #expect(!roster.remaining.isEmpty, "one is always left")
            #expect(roster.last != nil)
        }
    }

    @Test func aPlaceOfUnknownVersionIsAskedForOnePartFirst() {
        var roster = roster(2, bound: false)
        #expect(roster.room(at: 0) == 2)
        #expect(open(&roster, 9) == [0, 1])
        roster.bound(1)
        #expect(open(&roster, 3) == [1, 1, 1])
    }

    /// Until a mirror has answered, its share of the connections is reserved for it, but not for long.
    @Test func aPlaceThatIsBeingAskedKeepsItsShare() {
        var roster = roster(2, bound: false)
        roster.bound(0)
        #expect(open(&roster, 8) == [0, 1, 0, 0, 0])
        var patient = roster
        roster.bound(1)
        #expect(open(&roster, 3, at: 100) == [1, 1, 1])
        #expect(open(&patient, 3, at: MirrorRoster.probeTime - 1) == [])
        #expect(open(&patient, 3, at: MirrorRoster.probeTime) == [0, 0, 0])
    }

    @Test func oneThatFailsRestsAndIsLeftAfterThree() {
        var roster = roster(2)
        var now: Int64 = 0
        for failure in 1...MirrorRoster.failureLimit {
            #expect(roster.remaining == [0, 1])
            roster.opened(0, at: now)
            roster.ended(0, 0, at: now)
            roster.failed(0, transient, at: now)
            #expect(roster.pick(at: now) == 1)
            now += MirrorRoster.firstRest << (failure - 1)
        }
        #expect(roster.remaining == [1] && roster.isAlone(1))
        #expect(roster.failure == transient)
    }

    @Test func successForgetsFailures() {
        var roster = roster(2)
        for round in 0..<5 {
            roster.opened(0, at: 0)
            roster.ended(0, 0, at: 0)
            roster.failed(0, transient, at: Int64(round) * 100_000)
            roster.succeeded(0)
        }
        #expect(roster.remaining == [0, 1] && roster.failure == nil)
    }

    @Test func aRetryAfterIsHonoured() {
        var roster = roster(2)
        roster.failed(0, AttemptFailure(error: Self.lost, disposition: .transient(after: 60)), at: 0)
        #expect(roster.pick(at: 59_999) == 1)
        roster.opened(1, at: 0)
        #expect(roster.pick(at: 60_000) == 0)
    }

    /// A server with a limit on connections is not dead.
    @Test func refusedConnectionsLeaveThoseThatWork() {
        var roster = roster(2)
        #expect(open(&roster, 8).count == 8)
        for _ in 0..<2 {
            roster.ended(0, 0, at: 0)
            roster.failed(0, transient, at: 0)
        }
        #expect(roster.remaining == [0, 1])
        #expect(open(&roster, 3, at: 1) == [1, 1, 1])
        #expect(open(&roster, 2, at: 10_000) == [0, 1], "one more is tried later")
    }

    // MARK: Rates

    @Test func aPlaceFarSlowerThanAnotherIsLeft() {
        var roster = roster(3)
        _ = open(&roster, 3)
        var left: [MirrorID] = []
        for step in 1...20 {
            let time = Int64(step) * 500
            left += roster.sampled(
                [0: ByteCount(time * 100), 1: ByteCount(time * 12), 2: ByteCount(time * 13)], at: time)
        }
        #expect(left == [1])
        #expect(roster.remaining == [0, 2])
        #expect(roster.failure == nil, "it did nothing wrong")
    }

    /// The fast connections are done. The rest of the file depends on a mirror that sends nothing.
    @Test func aSilentPlaceIsLeftAlsoWhereNobodyElseIsAtWork() {
        var roster = roster(2)
        _ = open(&roster, 2)
        roster.ended(0, 10_000_000, at: 40)
        roster.succeeded(0)
        #expect(roster.sampled([1: 4096], at: 4900) == [])
        #expect(roster.sampled([1: 4096], at: 5100) == [1])
    }

    @Test func connectionsAreCountedNotPlaces() {
        var roster = roster(2)
        for _ in 0..<10 { roster.opened(0, at: 0) }
        roster.opened(1, at: 0)
        // Ten connections together bring as much as one connection to the other origin, so each brings a tenth.
        #expect(roster.sampled([0: 500_000, 1: 500_000], at: 5100) == [0])
    }

    @Test func evenPlacesAndTheOnlyOneStay() {
        var even = roster(2)
        _ = open(&even, 2)
        var alone = roster(1)
        _ = open(&alone, 1)
        for step in 1...40 {
            let time = Int64(step) * 500
            #expect(even.sampled([0: ByteCount(time), 1: ByteCount(time * 2)], at: time) == [])
            #expect(alone.sampled([0: 1], at: time) == [])
        }
    }
}
