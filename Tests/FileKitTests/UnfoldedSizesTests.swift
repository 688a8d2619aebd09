import Testing
import TransferModel

@testable import FileKit

struct UnfoldedSizesTests {
    private let full = TransferError(
        .diskFull, "No room.", details: [ContentDecoding.neededMember: .integer(1)])

    @Test func whatFitsByNowMakesNothingElseForgotten() {
        let sizes = UnfoldedSizes()
        for number in 1...UnfoldedSizes.longest { sizes.note(full, of: TaskID(Int64(number))) }
        sizes.note(nil, of: TaskID(1))
        #expect(sizes.count == UnfoldedSizes.longest - 1)
        for number in 0..<2 { sizes.note(full, of: TaskID(Int64(10_000 + number))) }
        #expect(sizes.count == 1)
    }
}
