import Foundation
import Testing

@testable import TransferModel

struct JSONMembersTests {
    private struct Three: WireObject {
        var first: JSONValue?
        var second: JSONValue?
        var third: JSONValue?
        static let shape = Shape("Three", Self()) { row in
            row("first", \.first)
            row("second", \.second)
            row("third", \.third)
        }
    }

    private func parsed(_ text: String, where mayPass: (String, String) -> Bool = { _, _ in true }) -> JSONMembers? {
        JSONMembers(of: Array(text.utf8), Three.shape.table) { place, value in
            mayPass(Three.shape.names[place], String(decoding: value.text, as: UTF8.self))
        }
    }

    private func text(_ write: (inout JSONWriter) -> Void) -> String {
        var text = JSONWriter()
        text.object(write)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @Test(arguments: [
        (#"{"second":[1,{"a":"b,}"}]}"#, #"{"first":"before","second":[1,{"a":"b,}"}],"third":-7}"#),
        ("{}", #"{"first":"before","third":-7}"#),
    ])
    func areWrittenAsTheyStandBetweenOthers(object: String, expected: String) throws {
        let members = try #require(parsed(object))
        let written = text { text in
            text.member("first", "before")
            text.splice(members)
            text.member("third", -7)
        }
        #expect(written == expected)
    }

    @Test func anObjectIsWrittenInPlaceOfAMember() throws {
        let members = try #require(parsed(#"{"second":1}"#))
        let written = text { Three.shape.write(Three(first: 1, third: true), to: &$0, with: ("second", members)) }
        #expect(written == #"{"first":1,"second":{"second":1},"third":true}"#)
        #expect(try members.value([String: Int].self) == ["second": 1])
    }

    @Test func listsOfListsAreLookedThroughByTheirBeginnings() {
        func seen(_ text: String, _ holds: (String) -> Bool = { _ in true }) -> [String]? {
            var names: [String] = []
            let members = JSONMembers(of: Array("{\"first\":\(text)}".utf8), Three.shape.table) { _, value in
                value.firstElements { name in
                    names.append(String(decoding: name, as: UTF8.self))
                    return holds(names.last ?? "")
                }
            }
            return members == nil ? nil : names
        }
        #expect(seen("[]") == [] && seen(#"[["a","x"],["b",["c"]],["d"]]"#) == ["a", "b", "d"])
        #expect(seen(#"[["a"],["b"]]"#) { $0 != "b" } == nil)
        for text in ["7", "{}", "[7]", "[[]]", "[[7]]", #"[["\u0061"]]"#] { #expect(seen(text) == nil) }
    }

    @Test(arguments: [
        "", "[]", "7", "{", #"{"second":}"#, #" {"second":1}"#, "{\"second\":1}\n", #"{"second":1}}"#,
        #"{"unknown":1}"#, #"{"secon\u0064":1}"#, #"{"second":1,"second":2}"#,
    ])
    func refusesWhatIsNotPlain(_ text: String) { #expect(parsed(text) == nil) }

    @Test func asksAboutEachMemberButNotWithin() {
        let text = #"{"first":{"second":"x"},"third":"y"}"#
        #expect(parsed(text) { key, _ in key != "second" } != nil)
        #expect(parsed(text) { key, _ in key != "third" } == nil)
        #expect(parsed(text) { _, value in !value.contains("x") } == nil)
    }
}

// MARK: - Writing and reading

extension JSONMembersTests {
    private static let values: [JSONValue] = [
        nil, true, 0, -5, 9_223_372_036_854_775_807, 1.5, 1e-7, 1e300, "",
        "a\"b\\c\u{0}\u{1F}\u{7F}é😀", [], [1, "a", nil], [:],
        ["a": ["b": [["c": 1]]], "d": []],
    ]

    @Test(arguments: values)
    func aDecoderReadsWhatIsWritten(_ value: JSONValue) throws {
        let members: JSONMembers = ["a": value, "\"b\"": value]
        #expect(members.values == ["a": value, "\"b\"": value])
        #expect(members["a"] == value && members["c"] == nil)
    }

    @Test func membersStandInTheOrderInWhichTheyAreAdded() {
        var members = JSONMembers()
        #expect(members.isEmpty && members.object == Array("{}".utf8))
        members.add("text", "a\"b" as String)
        members.add("number", Int64(-1))
        members.add("double", 2.5 as Double)
        members.add("whole", 2 as Double)
        members.add("truth", false as Bool)
        members.add("json", json: Array("[1]".utf8))
        members.add(["b": 1, "a": 2] as JSONMembers)
        members.add([:] as JSONMembers)
        let text = #"{"text":"a\"b","number":-1,"double":2.5,"whole":2,"truth":false,"json":[1],"b":1,"a":2}"#
        #expect(String(decoding: members.object, as: UTF8.self) == text)
        #expect(String(decoding: JSONMembers(["b": 1, "a": 2]).object, as: UTF8.self) == #"{"a":2,"b":1}"#)
    }

    /// Otherwise the log would write an event differently from the live event.
    @Test(arguments: [0, 2, -3, 86_400, 1.5, 0.001, 1e300])
    func aNumberIsWrittenAsAfterItWasRead(_ number: Double) throws {
        let members: JSONMembers = ["a": .number(number)]
        #expect(JSONMembers(members.values) == members)
    }

    @Test func numbersThatJSONDoesNotHaveAreNull() {
        #expect(JSONMembers(["a": .number(.infinity)]) == ["a": nil])
        #expect(JSONMembers(["a": .number(.nan)]) == ["a": nil])
    }

    @Test(arguments: [#"{"b":1,"a":[{}]}"#, "{}"])
    func whatWasStoredStaysAsItIs(_ text: String) throws {
        let members = try JSONMembers(stored: text)
        #expect(members.object == Array(text.utf8))
        #expect(members.isEmpty == (text == "{}"))
    }

    /// A line break would end the message on the wire.
    @Test(arguments: ["{\"a\":\n1}", " {\"a\":1}", "{\"a\":1}\n"])
    func whatAnotherProgramStoredIsWrittenAnew(_ text: String) throws {
        #expect(try JSONMembers(stored: text) == ["a": 1])
    }

    @Test(arguments: ["", "[]", "{", "{\"a\"}", "{\"a\":1}}", "1"])
    func whatIsNoObjectIsRefused(_ text: String) {
        #expect(throws: (any Error).self) { try JSONMembers(stored: text) }
    }
}
