import Foundation
import TestSupport
import Testing

@testable import TransferModel

/// FoundationEssentials' coders are the reference: every text that the fast coders accept must mean the same to them.
/// The only exception are numbers of RFC 8259 that they refuse (`JSONNumbers`). These are rewritten for them.
struct JSONCodingTests {
    private static var fullText: String {
        "{"
            + TaskSpec.CodingKeys.allCases.map { "\"\($0.stringValue)\":\(SpecTexts.members[$0] ?? "0")" }.joined(
                separator: ",")
            + "}"
    }

    /// Returns the result of a decoder: the value, or the refusal that a client would see.
    private func judged<T: Decodable & Hashable>(_ body: () throws -> T) -> Result<T, TransferError> {
        do { return .success(try body()) } catch { return .failure(TransferError(decoding: error)) }
    }

    private func expectSame<T: Decodable & Hashable>(_ text: String, as _: T.Type) {
        let quick = judged { try JSONCoding.decode(T.self, from: Array(text.utf8)) }
        let slow = judged { try JSONDecoder().decode(T.self, from: Data(JSONNumbers.plain(Array(text.utf8)))) }
        // If there are several unknown members, either decoder may name any of them, because the other one has no
        // order.
        if case .failure(let a) = quick, case .failure(let b) = slow, a.code == .unknownField, b.code == a.code {
            return
        }
        #expect(quick == slow, "\(text)")
    }

    @Test func everyMemberIsReadAndWritten() throws {
        let spec = try JSONCoding.decode(TaskSpec.self, from: Array(Self.fullText.utf8))
        #expect(spec == (try JSONDecoder().decode(TaskSpec.self, from: Data(Self.fullText.utf8))))
        // `kind` always has a value. All other members are optional and must have been found.
        for child in Mirror(reflecting: spec).children {
            #expect(
                Mirror(reflecting: child.value).displayStyle != .optional
                    || !Mirror(reflecting: child.value).children.isEmpty,
                "\(child.label ?? "")")
        }
        let text = try JSONCoding.encode(spec)
        #expect(try JSONDecoder().decode(TaskSpec.self, from: Data(text)) == spec)
        #expect(try JSONDecoder().decode(TaskSpec.self, from: JSONEncoder().encode(spec)) == spec)
        let written = try JSONDecoder().decode(JSONValue.self, from: Data(text))
        #expect(written == (try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(spec))))
    }

    @Test func aFullTaskTakesTheQuickWay() throws {
        let tape = try #require(JSONTape(Array(Self.fullText.utf8)))
        let reader = TapeReader(tape, isLenient: false)
        _ = try reader.decode(TaskSpec.self, at: 0)
        #expect(!reader.isUnusual)
    }

    @Test func damagedTextsMeanWhatTheyMeantBefore() {
        var generator = SeededGenerator(announcing: "damaged texts")
        let pieces = [
            "null", "true", "0", "-0", "01", "1.0", "1.5", "1e3", "0e5", "-0E-5", "1e-400", "1e400",
            "9223372036854775808", "\"\"", "\"\\u0000\"",
            "\"\\ud800\"", "\"\\ud83d\\ude00\"", "\"\\x\"", "[]", "{}", "[[]]", "{\"a\":1}", "[\"a\"]",
            "[\"a\",\"b\",\"c\"]",
            "{\"url\":null}", "\"a", "[1,]", "{\"a\":1,\"a\":2}", "\"high\"", "tru",
        ]
        for key in TaskSpec.CodingKeys.allCases {
            for piece in pieces { expectSame("{\"\(key.stringValue)\": \(piece)}", as: TaskSpec.self) }
        }
        for _ in 0..<400 {
            var bytes = Array(Self.fullText.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes.remove(at: place)
                case 1: bytes[place] = bytes[Int.random(in: 0..<bytes.count, using: &generator)]
                default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &generator)], at: place)
                }
            }
            if let text = String(validating: bytes, as: UTF8.self) { expectSame(text, as: TaskSpec.self) }
        }
    }

    /// JSONDecoder would crash the process with some of these.
    @Test(arguments: ["[", "{\"a\":", "[{\"a\\\"[\":"], [256, 257, 511, 512, 513, 5000])
    func whatIsNestedDeeplyIsRefused(opening: String, depth: Int) {
        let text = Array(String(repeating: opening, count: depth).utf8)
        #expect(throws: DecodingError.self) { try JSONCoding.decode(JSONValue.self, from: text) }
    }

    @Test func unusualSpellingsAreUnderstood() {
        for text in [
            #"{"\u0075rl": "a"}"#, #"{"url": "a", "url": "b"}"#, #"{"url": "a", "\u0075rl": "b"}"#,
            #"{"interopVersion": 8.0}"#, #"{"connections": 1e1}"#, #" {"url" : "a" } "#, "\u{feff}{}", "{}{}", "",
            #"{"formFields": {"a": "1", "a": "2"}}"#, #"{"rateLimit": 1.5}"#, #"{"rateLimit": -5}"#,
        ] {
            expectSame(text, as: TaskSpec.self)
        }
        for text in [
            "1", "1.0", "1.5", "-0", "1e2", "12345678901234567890", "0.1", "[1,[2,{\"a\":[]}],null,true]", "\"ä\"",
        ] {
            expectSame(text, as: JSONValue.self)
        }
    }

    /// All numbers of the grammar in RFC 8259 section 6, short and long.
    @Test func everyNumberOfTheGrammarMeansTheSame() {
        var generator = SeededGenerator(announcing: "numbers")
        func digits(_ count: ClosedRange<Int>) -> String {
            String(
                (0..<Int.random(in: count, using: &generator)).compactMap { _ in
                    "0123456789".randomElement(using: &generator)
                })
        }
        for _ in 0..<2000 {
            var text = Bool.random(using: &generator) ? "-" : ""
            text +=
                Bool.random(using: &generator) ? "0" : "\(Int.random(in: 1...9, using: &generator))" + digits(0...20)
            if Bool.random(using: &generator) { text += "." + digits(1...20) }
            if Bool.random(using: &generator) {
                text += (["e", "E", "e+", "E-"].randomElement(using: &generator) ?? "e") + digits(1...4)
            }
            expectSame(text, as: JSONValue.self)
            expectSame(#"{"priority":\#(text)}"#, as: TaskSpec.self)
            expectSame(#"{"retry":{"firstDelay":\#(text)},"connections":\#(text)}"#, as: TaskSpec.self)
        }
    }

    /// This also holds for texts on the slow path, such as one with an escaped name.
    @Test(arguments: ["0e5", "0E5", "-0e0", "0.0e-7", "1e-400", "-3.25E-1234", "0.00000e2"])
    func numbersThatAreZeroAreReadOnBothWays(_ number: String) throws {
        #expect(try JSONCoding.decode(JSONValue.self, from: Array(number.utf8)).numberValue == 0)
        for name in ["rateLimit", #"rate\u004cimit"#] {
            let text = #"{"\#(name)":\#(number),"timeoutIntervalForResource":\#(number)}"#
            let spec = try JSONCoding.decode(TaskSpec.self, from: Array(text.utf8))
            #expect(spec.rateLimit?.rawValue == 0)
            #expect(spec.timeoutIntervalForResource?.rawValue == 0)
        }
    }

    @Test func depthIsBoundedWithoutRecursion() {
        let deep = Array((String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)).utf8)
        #expect(JSONTape(deep) == nil)
        let allowed = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(JSONTape(Array(allowed.utf8)) != nil)
    }

    @Test func badUTF8IsRefused() {
        #expect(throws: (any Error).self) {
            try JSONCoding.decode(JSONValue.self, from: [0x22, 0xC3, 0x22])
        }
    }

    @Test func unknownMembersArePassedOverWhereAsked() throws {
        let text = Array(#"{"url":"a","new":[{"x":1}]}"#.utf8)
        #expect(throws: TransferError.self) { try JSONCoding.decode(TaskSpec.self, from: text) }
        #expect(try JSONCoding.decode(TaskSpec.self, from: text, lenient: true).url == "a")
    }

    @Test func writtenValuesReadTheSame() throws {
        let value: JSONValue = [
            "null": nil, "numbers": [0, -5, 1.5, 1e300, 9_007_199_254_740_993], "text": "\u{0}\u{1f}\"\\/ä😀\u{2028}",
            "nested": ["empty": [], "object": [:], "bool": true],
        ]
        let text = try JSONCoding.encode(value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text)) == value)
        #expect(try JSONCoding.decode(JSONValue.self, from: text) == value)
    }

    /// The encoder looks at eight bytes together. It must find a byte that needs an escape at every position, next to
    /// any other byte.
    @Test func everyEscapeIsSeen() throws {
        func expected(_ text: String) -> String {
            text.unicodeScalars.reduce(into: "\"") { quoted, scalar in
                switch scalar {
                case "\"", "\\": quoted += "\\" + String(scalar)
                case "\u{0}"..<" ": quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
                default: quoted.unicodeScalars.append(scalar)
                }
            } + "\""
        }
        var wrong: [String] = []
        for filler in ["a", "\u{7F}", "é", "\u{10FFFF}"] {
            for place in 0..<18 {
                for byte in UInt8(0)..<0x80 {
                    var scalars = Array(repeating: Unicode.Scalar(filler) ?? " ", count: 18)
                    scalars[place] = Unicode.Scalar(byte)
                    let text = String(String.UnicodeScalarView(scalars))
                    if try JSONCoding.encode(text) != Array(expected(text).utf8) { wrong.append(text) }
                }
            }
        }
        #expect(wrong.isEmpty)
    }

    @Test func valuesAndFieldsAreWrittenAsTheyWriteThemselves() throws {
        let value: JSONValue = [
            "z": [1, 2.5, -0.0, 1e300, true, nil, "\"\u{1}"], "a": [:], "b": [], "": ["y": [["x": "é"]]],
        ]
        let fields = [HeaderField("A", "\"b\""), HeaderField("", "")]
        #expect(
            String(decoding: try JSONCoding.encode(value), as: UTF8.self)
                == #"{"":{"y":[{"x":"é"}]},"a":{},"b":[],"z":[1,2.5,-0,1e+300,true,null,"\"\u0001"]}"#)
        #expect(String(decoding: try JSONCoding.encode(fields), as: UTF8.self) == ##"[["A","\"b\""],["",""]]"##)
        #expect(throws: EncodingError.self) { try JSONCoding.encode(["a": [JSONValue.number(.infinity)]]) }
    }

    @Test func numbersThatJSONLacksAreRefused() {
        #expect(throws: EncodingError.self) { try JSONCoding.encode(Seconds(.infinity)) }
    }

    @Test func whatIsNotImitatedIsLeftToFoundation() throws {
        struct Nested: Codable, Hashable {
            var a = 1
            enum Keys: CodingKey { case inner, list, a }
            init() {}
            init(from decoder: any Decoder) throws {
                let outer = try decoder.container(keyedBy: Keys.self)
                a = try outer.nestedContainer(keyedBy: Keys.self, forKey: .inner).decode(Int.self, forKey: .a)
            }
            func encode(to encoder: any Encoder) throws {
                var outer = encoder.container(keyedBy: Keys.self)
                var inner = outer.nestedContainer(keyedBy: Keys.self, forKey: .inner)
                var list = outer.nestedUnkeyedContainer(forKey: .list)
                try inner.encode(a, forKey: .a)
                try list.encode(Float(0.5))
            }
        }
        let text = try JSONCoding.encode(Nested())
        #expect(try JSONDecoder().decode(Nested.self, from: Data(text)) == Nested())
        #expect(try JSONCoding.decode(Nested.self, from: text) == Nested())
    }
}
