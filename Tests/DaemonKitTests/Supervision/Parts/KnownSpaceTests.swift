import Testing
import TransferModel

@testable import DaemonKit

struct KnownSpaceTests {
    private let minimum = ByteCount.mebibytes(100)

    @Test func oneLookServesTasksThatBeginTogether() {
        let spaces = KnownSpace()
        #expect(!spaces.hasSpace(on: 1, leaving: minimum, at: 0))
        spaces.note(.mebibytes(1000), on: 1, at: 0)
        #expect(spaces.hasSpace(on: 1, leaving: minimum, at: 400))
        #expect(!spaces.hasSpace(on: 2, leaving: minimum, at: 400), "another file system")
    }

    @Test func aLookGrowsOld() {
        let spaces = KnownSpace()
        spaces.note(.mebibytes(1000), on: 1, at: 0)
        #expect(!spaces.hasSpace(on: 1, leaving: minimum, at: 501))
    }

    @Test func whereItIsNarrowEachTaskLooks() {
        let spaces = KnownSpace()
        spaces.note(.mebibytes(200), on: 1, at: 0)
        #expect(!spaces.hasSpace(on: 1, leaving: minimum, at: 0))
    }
}
