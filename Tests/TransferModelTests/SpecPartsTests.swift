import Foundation
import Testing
import TransferModel

struct SpecPartsTests {
    @Test func aTokenHasLettersDigitsAndFewMarks() {
        #expect(HeaderField.isToken("X-Api_Key.1~"))
        for text in ["", "a b", "a:", "ä", "a\r", "(a)"] { #expect(!HeaderField.isToken(text), "\(text)") }
    }

    private func priority(_ json: String) throws -> TaskPriority {
        try JSONCoding.decode([TaskPriority].self, from: Array("[\(json)]".utf8))[0]
    }

    @Test(arguments: [("\"low\"", 0.25), ("\"normal\"", 0.5), ("\"high\"", 0.75), ("0", 0), ("1", 1), ("0.3", 0.3)])
    func prioritiesHaveNamesAndNumbers(_ json: String, _ value: Double) throws {
        #expect(try priority(json).value == value)
    }

    @Test(arguments: ["\"urgent\"", "-0.1", "1.1", "true", "null"])
    func otherPrioritiesAreRefused(_ json: String) {
        #expect(throws: (any Error).self) { try priority(json) }
    }

    @Test(arguments: ["[\"a\"]", "[\"a\",\"b\",\"c\"]", "\"a: b\"", "[1,2]"])
    func aHeaderIsAPair(_ json: String) {
        #expect(throws: (any Error).self) { try JSONCoding.decode([HeaderField].self, from: Array("[\(json)]".utf8)) }
    }

    @Test func digestsHaveTheirLength() {
        for algorithm in DigestAlgorithm.allCases {
            #expect([32, 40, 64, 96, 128].contains(algorithm.hexLength))
        }
    }
}
