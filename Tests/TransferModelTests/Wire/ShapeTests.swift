import TestSupport
import Testing

@testable import TransferModel

struct ShapeTests {
    private func decode<T: WireValue>(_ json: String, as _: T.Type = TaskSpec.self) throws -> T {
        try JSONCoding.decode(T.self, from: Array(json.utf8))
    }

    @Test func unknownMembersAreRefusedByPath() {
        struct Add: WireObject {
            var tasks: [TaskSpec] = []
            static let shape = Shape("Add", Self()) { $0("tasks", \.tasks) }
        }
        let error = #expect(throws: TransferError.self) {
            try decode(
                #"{"tasks": [{"url": "a"}, {"url": "b", "checksum": {"algorithm": "md5", "valeu": ""}}]}"#, as: Add.self
            )
        }
        #expect(error?.code == .unknownField)
        #expect(error?.details["field"] == "tasks[1].checksum.valeu")
        #expect(error?.message.contains("algorithm, value") == true)
    }

    @Test func requiredMembersAreNamed() {
        let error = #expect(throws: TransferError.self) {
            try decode(#"{"checksum": {"algorithm": "md5"}}"#) as TaskSpec
        }
        #expect(error?.code == .badField)
        #expect(error?.details["field"] == "checksum.value")
    }

    @Test func nullIsAbsent() throws {
        let spec: TaskSpec = try decode(#"{"url": null, "kind": null}"#)
        #expect(spec.url == nil)
        #expect(spec.kind == .download)
    }

    @Test func wrongTypesBecomeBadFields() throws {
        do {
            _ = try decode(#"{"url": 5}"#) as TaskSpec
            Issue.record("accepted")
        } catch {
            let said = try #require(error as? TransferError)
            #expect(said.code == .badField)
            #expect(said.details["field"] == "url")
        }
    }

    /// Each message names the field and the allowed values, but not the given value, which may be a secret in the wrong
    /// field.
    @Test(arguments: [
        (#"{"rateLimit": 1.5}"#, "rateLimit", "whole numbers"),
        (#"{"connections": 9223372036854775808}"#, "connections", "too large"),
        (#"{"timeoutIntervalForRequest": 1e400}"#, "timeoutIntervalForRequest", "too large"),
        (#"{"retry": {"attempts": 1.5}}"#, "retry.attempts", "whole numbers"),
        (#"{"url": "http://hidden/\ud800"}"#, "url", "surrogate"),
        (#"{"tags": ["hidden\udc00"]}"#, "tags[0]", "surrogate"),
        (#"{"size": "hidden"}"#, "size", "give a whole number."),
        (#"{"url": 5}"#, "url", "give a string."),
        (#"{"tags": "hidden"}"#, "tags", "give a list."),
        (#"{"tags": [null]}"#, "tags[0]", "give a string."),
        (#"{"checksum": "hidden"}"#, "checksum", "give an object."),
        (#"{"startPaused": "hidden"}"#, "startPaused", "give true or false."),
        (#"{"timeoutIntervalForRequest": "hidden"}"#, "timeoutIntervalForRequest", "give a number."),
        (#"{"kind": "hidden"}"#, "kind", "give one of download, upload, data."),
        (#"{"checksum": {"algorithm": "hidden"}}"#, "checksum.algorithm", "sha-256"),
        (#"{"deadlineAt": "hidden"}"#, "deadlineAt", "RFC 3339"),
    ])
    func mistakesAreExplained(_ text: String, _ field: String, _ advice: String) throws {
        let error = #expect(throws: (any Error).self) {
            _ = try JSONCoding.decode(TaskSpec.self, from: Array(text.utf8))
        }
        let said = try #require(error as? TransferError)
        #expect(said.code == .badField)
        #expect(said.details["field"] == JSONValue.string(field))
        #expect(said.message.hasPrefix("\(field): ") && said.message.contains(advice), "\(said.message)")
        #expect(!said.message.contains("hidden"))
    }

    @Test func everySpecMemberIsRead() throws {
        // The key list and the reader could disagree. Each key alone must be accepted, or refused only because of its
        // type.
        for name in TaskSpec.shape.names {
            do {
                _ = try decode("{\"\(name)\": []}") as TaskSpec
            } catch {
                #expect((error as? TransferError)?.code == .badField, "\(name)")
            }
        }
    }

    @Test func specsSurviveARoundTrip() throws {
        let json = #"""
            {"kind": "download", "url": "https://example.org/f", "headers": [["A", "1"], ["A", "2"]],
             "destination": {"directory": "/d", "filename": "n"}, "checksum": {"algorithm": "sha-256", "value": "00"},
             "priority": "high", "deadlineAt": "2030-01-01T00:00:00Z", "retry": {"attempts": 3}, "tags": ["t"]}
            """#
        let spec: TaskSpec = try decode(json)
        let again = try JSONCoding.decode(TaskSpec.self, from: JSONCoding.encode(spec))
        #expect(again == spec)
        #expect(spec.headers == [HeaderField("A", "1"), HeaderField("A", "2")])
        #expect(spec.priority == .high)
    }

    /// A name that had to change is read, in requests and in the store, but never written.
    @Test(arguments: [
        #"{"from":"22:00","to":"06:00"}"#, #"{"begin":"22:00","to":"06:00"}"#, #"{"from":"22:00","end":"06:00"}"#,
        #"{"\u0066rom":"22:00","end":"06:00"}"#,
    ])
    func namesBeforeAreRead(_ text: String) throws {
        let window = try decode(text, as: ScheduleWindow.self)
        #expect(window == ScheduleWindow(begin: "22:00", end: "06:00"))
        #expect(String(decoding: JSONCoding.encode(window), as: UTF8.self) == #"{"begin":"22:00","end":"06:00"}"#)
    }

    @Test func aNameBeforeIsNoSecondMember() {
        let cases: [(String, ErrorCode, String)] = [
            (#"{"begin":"1","from":"2","end":"3"}"#, .badField, "begin"),
            (#"{"from":"1"}"#, .badField, "end"), (#"{"from":"1","till":"2"}"#, .unknownField, "till"),
            (#"{"from":1,"to":"2"}"#, .badField, "from"),
        ]
        for (text, code, field) in cases {
            let error = #expect(throws: TransferError.self) { try decode(text, as: ScheduleWindow.self) }
            #expect(
                error?.code == code && error?.details["field"] == JSONValue.string(field),
                "\(text): \(String(describing: error))")
            if code == .unknownField { #expect(error?.message.contains("from") == false) }
        }
    }

    @Test func configurationsSurviveARoundTrip() throws {
        let json = #"""
            {"timeoutIntervalForRequest": 5, "schedule": [{"from": "22:00", "to": "06:00", "days": [1]}],
             "launch": {"unit": "a.service"}, "allowsArbitraryLoads": false, "tlsMinimumVersion": "1.2"}
            """#
        let configuration: SessionConfiguration = try decode(json, as: SessionConfiguration.self)
        let again = try JSONCoding.decode(SessionConfiguration.self, from: JSONCoding.encode(configuration))
        #expect(again == configuration)
        #expect(configuration.schedule?.first?.days == [1])
    }

    /// Names with the same length, first byte and last byte have the same hash.
    @Test func namesOfOneHashAreToldApart() {
        let names = "abcdefghijklmnopqrstuvwxyz".map { "a\($0)z" } + ["", "b", "az"]
        let table = NameTable(names)
        for (place, name) in names.enumerated() { #expect(table.place(of: Array(name.utf8)[...]) == place) }
        for name in ["aAz", "a", "zz", "aazz"] { #expect(table.place(of: Array(name.utf8)[...]) == nil) }
    }

    @Test(arguments: [
        #"{"url":"a","url":"b"}"#, #"{"url":"a","\u0075rl":"b"}"#, #"{"url":null,"url":"b"}"#,
    ])
    func aMemberThatIsGivenTwiceIsRefused(_ text: String) {
        let error = #expect(throws: TransferError.self) { try decode(text) }
        #expect(error?.message == "url: it is given twice; give it once.")
    }

    @Test(arguments: [
        (#"{"":1}"#, #"[""]"#), (#"{"a\ud800":1}"#, #"a\ud800"#), (#"{"retry":{"a.b":1}}"#, #"retry["a.b"]"#),
    ])
    func everyUnknownNameIsShown(_ text: String, _ field: String) {
        let error = #expect(throws: TransferError.self) { try decode(text) }
        #expect(error?.code == .unknownField && error?.details["field"] == JSONValue.string(field))
    }

    @Test func nullIsAValueWhereAnyIsOne() throws {
        struct Setting: WireObject, Hashable {
            var value: JSONValue = 1
            var name = ""
            static let shape = Shape("Setting", Self()) { row in
                row("value", \.value)
                row("name", \.name)
            }
        }
        #expect(try decode(#"{"value":null,"name":"n"}"#, as: Setting.self) == Setting(value: .null, name: "n"))
        let error = #expect(throws: TransferError.self) { try decode(#"{"value":1,"name":null}"#, as: Setting.self) }
        #expect(error?.message == "name: give a string.")
    }

    @Test func namesMayBeWrittenWithEscapes() throws {
        let spec: TaskSpec = try decode(#"{"\u0075rl": "a"}"#)
        #expect(spec.url == "a")
    }

    private struct Part: WireObject, Hashable {
        var count = 0
        var note: String?
        static let shape = Shape("Part", Self()) { row in
            row("count", \.count, isRequired: false, omitted: { $0 == 0 })
            row("note", \.note)
        }
    }

    private struct Whole: WireObject, Hashable {
        var part = Part()
        var title = "none"
        /// Computed: it has no place in memory of its own.
        var size: Int? {
            get { part.count * 2 }
            set { part.count = (newValue ?? 0) / 2 }
        }
        static let shape = Shape("Whole", Self()) { row in
            row("title", \.title, isRequired: false)
            row(membersOf: \.part, Part.shape, without: ["count"])
            row("size", \.size)
        }
    }

    @Test func membersOfAPartAreMembersOfTheWhole() throws {
        let whole = try decode(#"{"note":"n","size":8}"#, as: Whole.self)
        #expect(whole == Whole(part: Part(count: 4, note: "n")))
        #expect(String(decoding: JSONCoding.encode(whole), as: UTF8.self) == #"{"title":"none","note":"n","size":8}"#)
        #expect(String(decoding: JSONCoding.encode(Part()), as: UTF8.self) == "{}")
        #expect(Whole.shape.present(in: whole).map(\.name) == ["title", "note", "size"])
    }

    /// A value is written and read by the place of its members in memory: each member has a value of its own here.
    @Test func everyMemberOfATaskComesBackAlone() throws {
        for name in TaskSpec.shape.names where name != "kind" {
            let text = "{\"\(name)\":\(try #require(SpecTexts.members[name]))}"
            let spec: TaskSpec = try decode(text)
            #expect(TaskSpec.shape.present(in: spec).map(\.name) == ["kind", name])
            #expect(try JSONCoding.decode(TaskSpec.self, from: JSONCoding.encode(spec)) == spec)
        }
    }
}
