import Testing
import TransferModel

@testable import dld_fleet

@Suite struct AddCommandTests {
    @Test func batchesAreBounded() {
        let small = [JSONValue](repeating: ["url": "x"], count: 20_001)
        #expect(AddCommand.batches(small) == [0..<10_000, 10_000..<20_000, 20_000..<20_001])
        let large = [JSONValue](repeating: .string(String(repeating: "x", count: 5 << 20)), count: 3)
        #expect(AddCommand.batches(large) == [0..<1, 1..<2, 2..<3])
        #expect(AddCommand.batches([]) == [])
    }

    @Test func optionsAreMembers() throws {
        let command = try AddCommand.parse(
            ["u", "--header", "Accept:  a", "--checksum", "SHA-1:" + String(repeating: "F", count: 40), "-o", "{name}"])
        #expect(
            try command.members() == [
                "headers": [["Accept", "a"]], "destination": ["filename": "{name}"],
                "checksum": ["algorithm": "sha-1", "value": .string(String(repeating: "f", count: 40))],
            ])
    }
}
