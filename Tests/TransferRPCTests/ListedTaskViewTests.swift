import TestSupport
import Testing
import TransferModel
import TransferRPC

struct ListedTaskViewTests {
    /// Members that are never handed on as text.
    private static let hidden: Set<TaskSpec.CodingKeys> = [
        .headers, .body, .formFields, .s3, .pieces, .password, .bearer, .clientToken, .resumeData, .clientCertificate,
    ]

    /// What a client reads of the task: by itself, and on a page as the handler makes it.
    private func expectSame(_ spec: TaskSpec, isText: Bool) throws {
        var record = Samples.record
        record.spec = spec
        let stored = String(decoding: try JSONCoding.encode(spec), as: UTF8.self)
        let members = TaskSpec.shareable(stored)
        #expect((members != nil) == isText, "\(stored)")
        var bare = record
        bare.spec = TaskSpec()
        bare.spec.kind = spec.kind
        let listed = members.map { ListedTaskView(bare, members: $0) } ?? ListedTaskView(TaskView(record))
        let page = try WireCoding.encode(ListedPage(tasks: [listed, listed], nextCursor: "next"))
        let view = TaskView(record)
        let expected = ListTasks.Result(tasks: [view, view], nextCursor: "next")
        #expect(try WireCoding.decode(ListTasks.Result.self, from: page) == expected)
        #expect(
            try WireCoding.decode(JSONValue.self, from: page)
                == WireCoding.decode(JSONValue.self, from: try WireCoding.encode(expected)))
    }

    @Test(arguments: TaskSpec.CodingKeys.allCases)
    func isWhatTheTaskItselfIs(_ key: TaskSpec.CodingKeys) throws {
        let text = "{\"\(key.stringValue)\":\(try #require(SpecTexts.members[key]))}"
        let spec = try JSONCoding.decode(TaskSpec.self, from: Array(text.utf8))
        try expectSame(spec, isText: !Self.hidden.contains(key))
    }

    @Test(arguments: ["https://u:p@example.org/", "https://example.org/@", "https:\\/\\/u@example.org/"])
    func whatMayHoldUserInfoIsLookedAt(_ url: String) throws {
        for keyPath in [\TaskSpec.url, \TaskSpec.proxy] as [WritableKeyPath<TaskSpec, String?>] {
            var spec = TaskSpec()
            spec[keyPath: keyPath] = url
            try expectSame(spec, isText: false)
        }
        var spec = TaskSpec()
        spec.mirrors = ["https://example.org/", url]
        try expectSame(spec, isText: false)
    }

    @Test func emptyPagesAndLastOnesHaveNoCursor() throws {
        let page = try WireCoding.encode(ListedPage(tasks: [], nextCursor: nil))
        #expect(String(decoding: page, as: UTF8.self) == #"{"tasks":[]}"#)
    }
}
