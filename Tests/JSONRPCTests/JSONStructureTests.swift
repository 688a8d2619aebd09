import Foundation
import JSONRPC
import Testing

struct JSONStructureTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "12", "-1.5", "1e9", "1E+09", "0.1e-3", "\"\"", "\"a\\n\\u00e9\\\\\\\"\"",
        "[]", "{}",
        " [ 1 , 2 ] ", "{\"a\":{\"b\":[1,{}]}}", "\t\"x\"\r\n", "[[],[[]],{}]", "\"\u{7F}é😀\"",
    ])
    func acceptsJSON(_ text: String) throws {
        let structure = try JSONStructure(Array(text.utf8))
        #expect(!structure.range.isEmpty)
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
        #expect(throws: JSONStructure.Invalid.self) { try JSONStructure(Array(text.utf8)) }
    }

    @Test func saysWhereMembersAndElementsLie() throws {
        let bytes = Array("{ \"a\" : [1, {\"x\":2}] , \"b\":\"c\" }".utf8)
        guard case .object(let members) = try JSONStructure(bytes).root else {
            Issue.record("not an object")
            return
        }
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        #expect(members.map { text($0.name) } == ["\"a\"", "\"b\""])
        #expect(members.map { text($0.value) } == ["[1, {\"x\":2}]", "\"c\""])
        guard case .array(let elements) = try JSONStructure(bytes, in: members[0].value).root else {
            Issue.record("not an array")
            return
        }
        #expect(elements.map(text) == ["1", "{\"x\":2}"])
    }

    @Test func limitsDepth() throws {
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(throws: Never.self) { try JSONStructure(Array(deepest.utf8)) }
        let error = #expect(throws: JSONStructure.Invalid.self) { try JSONStructure(Array("[\(deepest)]".utf8)) }
        #expect(error?.offset == 64)
    }

    /// Valid JSON that Foundation does not read: numbers beyond a Double, `0e5`, and lone surrogates.
    private static func isBeyondDecoders(_ text: [UInt8]) -> Bool {
        let text = String(decoding: text, as: UTF8.self)
        return text.contains(/[eE][+-]?[0-9]{3}/) || text.contains(/0e[0-9]/) || text.contains(/\\u[dD][89a-fA-F]/)
    }

    /// The decoder can read every text that the structure accepts. The test checks this with mutations of a valid text.
    @Test func agreesWithADecoder() {
        var generator = SeededGenerator(state: 7)
        let seed = Array("{\"a\":[1,-2.5e3,\"x\\u00e9\\n\"],\"b\":{\"c\":null,\"d\":true},\"e\":\"\"}".utf8)
        let alphabet = Array("{}[]\",:0123456789.eE+-truefalsn\\u ".utf8)
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
            guard (try? JSONStructure(text)) != nil, !Self.isBeyondDecoders(text) else { continue }
            let isReadable = (try? JSONDecoder().decode(AnyJSON.self, from: Data(text))) != nil
            #expect(isReadable, "\(String(decoding: text, as: UTF8.self))")
        }
    }
}

/// Any JSON value. Its parts are discarded.
private struct AnyJSON: Decodable {
    init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: Name.self) {
            for key in object.allKeys { _ = try object.decode(AnyJSON.self, forKey: key) }
        } else if var array = try? decoder.unkeyedContainer() {
            while !array.isAtEnd { _ = try array.decode(AnyJSON.self) }
        } else {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() { return }
            if (try? value.decode(Bool.self)) != nil || (try? value.decode(Double.self)) != nil { return }
            _ = try value.decode(String.self)
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        let intValue: Int? = nil
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
