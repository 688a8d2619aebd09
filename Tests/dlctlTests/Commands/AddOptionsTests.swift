import ArgumentParser
import Testing
import TransferModel

@testable import dlctl

@Suite struct AddOptionsTests {
    /// If the last one won, the file that the first one names would be missed without a word.
    @Test func aSecondOutputIsRefused() throws {
        #expect(try SavingOptions.parse(["-o", "a"]).output == "a")
        #expect(throws: (any Error).self) { try SavingOptions.parse(["-o", "a", "-o", "b"]) }
        #expect(throws: (any Error).self) { try SavingOptions.parse(["-o", "a", "--output", "b"]) }
    }

    @Test func eachConditionHasAnOption() throws {
        func spec(_ arguments: [String]) throws -> TaskSpec {
            var spec = TaskSpec()
            try ConditionOptions.parse(arguments).apply(to: &spec)
            return spec
        }
        #expect(try spec([]) == TaskSpec())
        #expect(try spec(["--not-metered"]).allowsExpensiveNetworkAccess == false)
        #expect(try spec(["--not-cellular"]).allowsCellularAccess == false)
        #expect(try spec(["--not-low-data"]).allowsConstrainedNetworkAccess == false)
        #expect(try spec(["--discretionary"]).isDiscretionary == true)
        let anyway = try spec(["--anyway"])
        #expect(anyway.allowsExpensiveNetworkAccess == true && anyway.allowsCellularAccess == true)
        #expect(anyway.allowsConstrainedNetworkAccess == true && anyway.isDiscretionary == false)
        #expect(throws: (any Error).self) { try spec(["--anyway", "--discretionary"]) }
    }
}
