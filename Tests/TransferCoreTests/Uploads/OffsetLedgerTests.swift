import Testing
import TransferModel

@testable import TransferCore

struct OffsetLedgerTests {
    @Test func moreThanThereIsIsRefused() throws {
        var ledger = OffsetLedger(size: 10, start: 0, furthest: 0)
        try ledger.confirm(10)
        #expect(throws: AttemptFailure.self) { try ledger.confirm(11) }
    }

    @Test func progressResetsPatience() throws {
        var ledger = OffsetLedger(size: 100, start: 0, furthest: 0)
        for offset in 1...20 as ClosedRange<Int64> {
            try ledger.confirm(ByteCount(offset))
            try ledger.confirm(ByteCount(offset))
            try ledger.disappoint()
        }
        #expect(ledger.progressed)
    }

    @Test func goingInCirclesEnds() throws {
        var ledger = OffsetLedger(size: 100, start: 50, furthest: 50)
        try ledger.confirm(60)
        var steps = 0
        #expect(throws: AttemptFailure.self) {
            for _ in 0..<10 {
                steps += 1
                try ledger.confirm(20)
                try ledger.confirm(40)
            }
        }
        #expect(steps == 4)
    }

    @Test func catchingUpIsNotPunished() throws {
        var ledger = OffsetLedger(size: 100, start: 50, furthest: 50)
        for offset in 0...40 as ClosedRange<Int64> { try ledger.confirm(ByteCount(offset)) }
        #expect(!ledger.progressed)
    }

    @Test func onlyWhatLiesBeyondEverythingBeforeIsProgress() throws {
        var ledger = OffsetLedger(size: 100, start: 10, furthest: 60)
        for offset in [20, 60] as [ByteCount] {
            try ledger.confirm(offset)
            #expect(!ledger.progressed)
        }
        ledger.beginAnew()
        try ledger.confirm(30)
        #expect(!ledger.progressed)
        try ledger.confirm(61)
        #expect(ledger.progressed)
        #expect(ledger.furthest == 61)
    }

    @Test func aReasonExcusesOneAnswer() throws {
        var ledger = OffsetLedger(size: 100, start: 0, furthest: 0)
        for _ in 0..<10 {
            ledger.excuse()
            try ledger.confirm(0)
        }
        #expect(throws: AttemptFailure.self) { for _ in 0..<4 { try ledger.confirm(0) } }
    }
}
