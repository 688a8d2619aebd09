import TestSupport
import Testing

@testable import TransferModel

struct JSONCodingTests {
    private static var fullText: String {
        "{" + TaskSpec.shape.names.map { "\"\($0)\":\(SpecTexts.members[$0] ?? "0")" }.joined(separator: ",") + "}"
    }

    @Test func everyMemberIsReadAndWritten() throws {
        let spec = try JSONCoding.decode(TaskSpec.self, from: Array(Self.fullText.utf8))
        // `kind` always has a value. All other members are optional and must have been found.
        for child in Mirror(reflecting: spec).children {
            #expect(
                Mirror(reflecting: child.value).displayStyle != .optional
                    || !Mirror(reflecting: child.value).children.isEmpty,
                "\(child.label ?? "")")
        }
        let text = JSONCoding.encode(spec)
        #expect(try JSONCoding.decode(TaskSpec.self, from: text) == spec)
        #expect(try JSONTape(text).root.members().map(\.name.stringIfAny) == TaskSpec.shape.names)
        #expect(try ForeignJSON.value(text) == JSONCoding.decode(JSONValue.self, from: text))
    }

    /// Whatever is damaged, the text is refused with the path of a field, or means the same after it was written again.
    @Test func damagedTextsAreRefusedOrUnderstood() throws {
        var generator = SeededGenerator(announcing: "damaged texts")
        for _ in 0..<4000 {
            var bytes = Array(Self.fullText.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes.remove(at: place)
                case 1: bytes[place] = bytes[Int.random(in: 0..<bytes.count, using: &generator)]
                default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &generator)], at: place)
                }
            }
            do {
                let spec = try JSONCoding.decode(TaskSpec.self, from: bytes)
                #expect(try JSONCoding.decode(TaskSpec.self, from: JSONCoding.encode(spec)) == spec)
            } catch {
                let isJSON = (try? JSONTape(bytes)) != nil
                #expect(isJSON == (error.details["field"] != nil), "\(error)")
            }
        }
    }

    /// A recursive reader would crash the process with some of these.
    @Test(arguments: ["[", "{\"a\":", "[{\"a\\\"[\":"], [256, 257, 511, 512, 513, 5000])
    func whatIsNestedDeeplyIsRefused(opening: String, depth: Int) {
        let text = Array(String(repeating: opening, count: depth).utf8)
        #expect(throws: TransferError.self) { try JSONCoding.decode(JSONValue.self, from: text) }
    }

    @Test func unusualSpellingsAreUnderstood() throws {
        let spec = try JSONCoding.decode(
            TaskSpec.self, from: Array(#" {"interopVersion" : 8.0 , "connections":1e1,"rateLimit":-5} "#.utf8))
        #expect(spec.interopVersion == 8 && spec.connections == 10 && spec.rateLimit == -5)
        for (text, value) in [
            ("1", 1), ("1.0", 1), ("-0", 0), ("1e2", 100), ("1.5", .number(1.5)), ("0.1", .number(0.1)),
            ("12345678901234567890", .number(12_345_678_901_234_567_168)), ("\"ä\"", "ä"),
            ("[1,[2,{\"a\":[]}],null,true]", [1, [2, ["a": []]], nil, true]),
        ] as [(String, JSONValue)] {
            #expect(try JSONCoding.decode(JSONValue.self, from: Array(text.utf8)) == value, "\(text)")
        }
        for text in ["\u{feff}{}", "{}{}", "", #"{"formFields": {"a": "1", "a": "2"}}"#, #"{"rateLimit": 1.5}"#] {
            #expect(throws: TransferError.self) { try JSONCoding.decode(TaskSpec.self, from: Array(text.utf8)) }
        }
    }

    /// Numbers of the grammar in RFC 8259 section 6, short and long.
    @Test func everyNumberOfTheGrammarIsRead() throws {
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
            let value = try? JSONCoding.decode(JSONValue.self, from: Array(text.utf8))
            let expected = Double(text).flatMap { $0.isFinite ? $0 : nil }
            #expect(value?.numberValue == expected, "\(text)")
        }
    }

    @Test(arguments: ["0e5", "0E5", "-0e0", "0.0e-7", "1e-400", "-3.25E-1234", "0.00000e2"])
    func numbersThatAreZeroAreRead(_ number: String) throws {
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
        #expect(throws: JSONTape.Invalid.self) { try JSONTape(deep) }
        let allowed = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(throws: Never.self) { try JSONTape(Array(allowed.utf8)) }
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
        let text = JSONCoding.encode(value)
        #expect(try ForeignJSON.value(text) == value)
        #expect(try JSONCoding.decode(JSONValue.self, from: text) == value)
    }

    /// The encoder looks at eight bytes together. It must find a byte that needs an escape at every position, next to
    /// any other byte.
    @Test func everyEscapeIsSeen() {
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
                    if JSONCoding.encode(text) != Array(expected(text).utf8) { wrong.append(text) }
                }
            }
        }
        #expect(wrong.isEmpty)
    }

    @Test func valuesAndFieldsAreWrittenInOneForm() {
        let value: JSONValue = [
            "z": [1, 2.5, -0.0, 1e300, true, nil, "\"\u{1}"], "a": [:], "b": [], "": ["y": [["x": "é"]]],
        ]
        let fields = [HeaderField("A", "\"b\""), HeaderField("", "")]
        #expect(
            String(decoding: JSONCoding.encode(value), as: UTF8.self)
                == #"{"":{"y":[{"x":"é"}]},"a":{},"b":[],"z":[1,2.5,-0,1e+300,true,null,"\"\u0001"]}"#)
        #expect(String(decoding: JSONCoding.encode(fields), as: UTF8.self) == ##"[["A","\"b\""],["",""]]"##)
    }

    @Test func numbersThatJSONLacksBecomeNull() {
        #expect(JSONCoding.encode([Seconds(.infinity), Seconds(.nan)]) == Array("[null,null]".utf8))
    }

    @Test func textForPeopleHasALineForEachMember() {
        let value: JSONValue = ["b": [1, "x"], "a": ["c": nil]]
        #expect(
            JSONCoding.pretty(value) == """
                {
                  "a" : {
                    "c" : null
                  },
                  "b" : [
                    1,
                    "x"
                  ]
                }
                """)
    }
}
