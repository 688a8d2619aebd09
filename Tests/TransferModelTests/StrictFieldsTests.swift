import Foundation
import Testing
import TransferModel

struct StrictFieldsTests {
    private func decode<T: Decodable>(_ json: String, as _: T.Type = TaskSpec.self) throws -> T {
        try JSONDecoder().decode(T.self, from: Data(json.utf8))
    }

    @Test func unknownMembersAreRefusedByPath() {
        struct Add: Decodable { var tasks: [TaskSpec] }
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

    @Test func wrongTypesBecomeBadFields() {
        do {
            _ = try decode(#"{"url": 5}"#) as TaskSpec
            Issue.record("accepted")
        } catch {
            let said = TransferError(decoding: error)
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
        (#"{"tags": ["hidden\udc00"]}"#, "tags", "surrogate"),
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
        let said = TransferError(decoding: try #require(error))
        #expect(said.code == .badField)
        #expect(said.details["field"] == .string(field))
        #expect(said.message.hasPrefix("\(field): ") && said.message.contains(advice), "\(said.message)")
        #expect(!said.message.contains("hidden"))
    }

    @Test func everySpecMemberIsRead() throws {
        // The key list and the reader could disagree. Each key alone must be accepted, or refused only because of its
        // type.
        for key in TaskSpec.CodingKeys.allCases {
            do {
                _ = try decode("{\"\(key.stringValue)\": []}") as TaskSpec
            } catch {
                #expect(TransferError(decoding: error).code == .badField, "\(key.stringValue)")
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
        let again = try JSONDecoder().decode(TaskSpec.self, from: JSONEncoder().encode(spec))
        #expect(again == spec)
        #expect(spec.headers == [HeaderField("A", "1"), HeaderField("A", "2")])
        #expect(spec.priority == .high)
    }

    @Test func configurationsSurviveARoundTrip() throws {
        let json = #"""
            {"timeoutIntervalForRequest": 5, "schedule": [{"from": "22:00", "to": "06:00", "days": [1]}],
             "launch": {"unit": "a.service"}, "allowsArbitraryLoads": false, "tlsMinimumVersion": "1.2"}
            """#
        let configuration: SessionConfiguration = try decode(json, as: SessionConfiguration.self)
        let again = try JSONDecoder().decode(SessionConfiguration.self, from: JSONEncoder().encode(configuration))
        #expect(again == configuration)
        #expect(configuration.schedule?.first?.days == [1])
    }
}
