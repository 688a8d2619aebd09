import Foundation
import TestSupport
import Testing

@testable import TransferModel

struct JSONTapeTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "12", "-1.5", "1e9", "1E+09", "0.1e-3", "\"\"", "\"a\\n\\u00e9\\\\\\\"\"",
        "[]", "{}",
        " [ 1 , 2 ] ", "{\"a\":{\"b\":[1,{}]}}", "\t\"x\"\r\n", "[[],[[]],{}]", "\"\u{7F}é😀\"",
    ])
    func acceptsJSON(_ text: String) throws {
        #expect(try !JSONTape(Array(text.utf8)).root.text.isEmpty)
        _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "tru", "01", "-", "+1", "1.", ".5", "1e", "1e+", "00", "-01", "\"", "\"a", "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12", "\"a\nb\"", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "}", "{\"a\"", "{\"a\":",
        "{\"a\":1", "{\"a\":1,",
        "{\"a\":1,}", "{a:1}", "{1:2}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "[1}", "{\"a\":1]", "1 2", "[] []", "'a'",
        "NaN", "[1]x",
    ])
    func refusesWhatIsNoJSON(_ text: String) {
        #expect(throws: JSONTape.Invalid.self) { try JSONTape(Array(text.utf8)) }
    }

    @Test func saysWhereMembersAndElementsLie() throws {
        let root = try JSONTape(Array("{ \"a\" : [1, {\"x\":2}] , \"b\":\"c\" }".utf8)).root
        func text(_ node: JSONNode) -> String { String(decoding: node.text, as: UTF8.self) }
        let members = try root.members()
        #expect(members.map { text($0.name) } == ["\"a\"", "\"b\""])
        #expect(members.map { text($0.value) } == ["[1, {\"x\":2}]", "\"c\""])
        let elements = try members[0].value.elements()
        #expect(elements.map(text) == ["1", "{\"x\":2}"])
        #expect(elements[1].path("y") == "a[1].y" && root.count == 2 && elements[0].count == 0)
    }

    @Test func limitsDepth() throws {
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(throws: Never.self) { try JSONTape(Array(deepest.utf8)) }
        let error = #expect(throws: JSONTape.Invalid.self) { try JSONTape(Array("[\(deepest)]".utf8)) }
        #expect(error?.offset == 64)
    }

    /// Valid JSON that Foundation does not read as it is: numbers beyond a Double, and lone surrogates.
    private static func isBeyondFoundation(_ text: [UInt8]) -> Bool {
        let text = String(decoding: text, as: UTF8.self)
        return text.contains(/[eE][+-]?[0-9]{3}/) || text.contains(/0[eE][+-]?[0-9]/)
            || text.contains(/\\u[dD][89a-fA-F]/)
    }

    /// Foundation reads the same value from every text that a tape accepts. The texts are mutations of a valid one.
    @Test func agreesWithFoundation() throws {
        var generator = SeededGenerator(announcing: "texts")
        let seed = Array("{\"a\":[1,-2.5e3,\"x\\u00fc\\n\"],\"b\":{\"c\":null,\"d\":true},\"e\":\"\"}".utf8)
        let alphabet = Array("{}[]\",:0123456789.eE+-truefalsn\\u ".utf8)
        var compared = 0
        for _ in 0..<20_000 {
            var text = seed
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<text.count, using: &generator)
                let byte = alphabet.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text[place] = byte
                case 1: text.insert(byte, at: place)
                default: text.remove(at: place)
                }
            }
            guard !Self.isBeyondFoundation(text), let ours = try? JSONCoding.decode(JSONValue.self, from: text) else {
                continue
            }
            compared += 1
            #expect((try? ForeignJSON.value(text)) == ours, "\(String(decoding: text, as: UTF8.self))")
        }
        #expect(compared > 1000)
    }
}
