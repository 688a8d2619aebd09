import Foundation
import Testing
import TransferModel

struct JSONValueTests {
    @Test func everyKindSurvivesARoundTrip() throws {
        let value: JSONValue = ["a": [1, 2.5, true, nil, "x"], "b": ["c": .integer(.max)]]
        let again = try JSONCoding.decode(JSONValue.self, from: JSONCoding.encode(value))
        #expect(again == value)
        #expect(again["b"]?["c"]?.integerValue == .max)
        #expect(again["a"]?.arrayValue?.count == 5)
        #expect(again["missing"] == nil)
    }
}
