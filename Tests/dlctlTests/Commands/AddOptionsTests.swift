import ArgumentParser
import Testing

@testable import dlctl

@Suite struct AddOptionsTests {
    /// If the last one won, the file that the first one names would be missed without a word.
    @Test func aSecondOutputIsRefused() throws {
        #expect(try SavingOptions.parse(["-o", "a"]).output == "a")
        #expect(throws: (any Error).self) { try SavingOptions.parse(["-o", "a", "-o", "b"]) }
        #expect(throws: (any Error).self) { try SavingOptions.parse(["-o", "a", "--output", "b"]) }
    }
}
