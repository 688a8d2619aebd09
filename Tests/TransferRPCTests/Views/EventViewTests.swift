import Testing
import TransferModel

@testable import TransferRPC

struct EventViewTests {
    private let record = EventRecord(
        sequence: SequenceNumber(5), time: Samples.time, type: .taskCompleted, session: Samples.key, task: TaskID(7),
        payload: [
            "file": "/a \"b\"\n\u{1}ü", "bytes": 10, "duration": 1.5, "list": [1, nil, true, ["a": -0.001]],
        ])

    @Test func payloadStandsBesideTheFixedMembers() throws {
        let value = try JSONCoding.decode(JSONValue.self, from: JSONCoding.encode(EventView(record)), lenient: true)
        #expect(value["sequence"] == 5 && value["type"] == "task.completed" && value["session"] == "work")
        #expect(value["owner"] == 1000 && value["task"] == 7 && value["bytes"] == 10 && value["subscription"] == nil)
    }

    @Test func survivesTheWire() throws {
        let expected = EventView(record, subscription: "s1")
        let read = try JSONCoding.decode(
            EventView.self, from: JSONCoding.encode(EventView(record, subscription: "s1")), lenient: true)
        #expect(read == expected)
    }

    @Test func theQuickWriterSaysTheSame() throws {
        let text = Array("{\"subscription\":\"s1\"".utf8) + record.wireMembers
        #expect(
            try JSONCoding.decode(JSONValue.self, from: text, lenient: true)
                == JSONCoding.decode(
                    JSONValue.self, from: JSONCoding.encode(EventView(record, subscription: "s1")), lenient: true))
    }

    /// A payload is sent unchanged, next to the fixed members.
    @Test(arguments: EventType.allCases)
    func noEventNamesAMemberOfItsOwnLikeAFixedOne(_ type: EventType) {
        let names = ProtocolReference.members(type).split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }
        let fixed = Set(EventView.shape.names)
        #expect(names.allSatisfy { !fixed.contains(String($0.element)) })
    }

    @Test func progressHasNoSequence() throws {
        let progress = EventRecord(time: Samples.time, type: .taskProgress, session: Samples.key, task: TaskID(7))
        let text = [UInt8(ascii: "{")] + progress.wireMembers.dropFirst()
        #expect(try JSONCoding.decode(EventView.self, from: text, lenient: true).sequence == nil)
    }
}
