import TestSupport
import Testing
import TransferModel
import TransferRPC

struct ListedTaskViewTests {
    /// Members that are never passed on as text.
    private static let hidden: Set = [
        "headers", "body", "formFields", "s3", "pieces", "password", "bearer", "cookies", "resumeData",
        "clientCertificate",
    ]

    /// Compares what a client reads of the task in two ways: alone, and on a page as the handler makes it.
    private func expectSame(_ spec: TaskSpec, isText: Bool, response: ResponseInfo? = nil) throws {
        var record = Samples.record
        record.spec = spec
        record.response = response
        let stored = String(decoding: JSONCoding.encode(spec), as: UTF8.self)
        let members = TaskSpec.shareable(stored)
        #expect((members != nil) == isText, "\(stored)")
        var bare = record
        bare.spec = TaskSpec()
        bare.spec.kind = spec.kind
        bare.response = nil
        let text = response.map { String(decoding: JSONCoding.encode($0), as: UTF8.self) }
        let shared = text.flatMap { ResponseInfo.Shareable($0) }
        #expect((shared == nil) == (text == nil))
        let listed =
            members.map { ListedTaskView(bare, members: $0, response: shared) } ?? ListedTaskView(TaskView(record))
        let page = ListedTaskView.page([listed, listed], total: 7, nextCursor: "next")
        let view = TaskView(record)
        let expected = ListedTasks(tasks: [view, view], total: 7, nextCursor: "next")
        #expect(try JSONCoding.decode(ListedTasks.self, from: page, lenient: true) == expected)
        #expect(
            try JSONCoding.decode(JSONValue.self, from: page, lenient: true)
                == JSONCoding.decode(JSONValue.self, from: JSONCoding.encode(expected), lenient: true))
    }

    @Test(arguments: TaskSpec.shape.names)
    func isWhatTheTaskItselfIs(_ key: String) throws {
        let text = "{\"\(key)\":\(try #require(SpecTexts.members[key]))}"
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

    @Test func answersGoOutAsTheyAreStored() throws {
        var response = ResponseInfo(
            url: "https://example.org/f", status: 200, statusText: "OK \"\u{1}\u{e4}", mimeType: "text/plain",
            textEncoding: "utf-8", expectedLength: 1 << 40, suggestedFilename: "f")
        try expectSame(TaskSpec(), isText: true, response: response)
        response.headers = [HeaderField("ETag", "\"@\""), HeaderField("Content-Type", "text/plain")]
        response.resumedFrom = 5
        response.body = ResponseBody(text: "hello \"you\"", base64: nil, truncated: true)
        try expectSame(TaskSpec(), isText: true, response: response)
    }

    @Test func answersWithSecretsAreLookedAt() throws {
        func isShareable(_ change: (inout ResponseInfo) -> Void) throws -> Bool {
            var response = ResponseInfo(url: "https://example.org/f", headers: [HeaderField("ETag", "1")])
            change(&response)
            return ResponseInfo.Shareable(String(decoding: JSONCoding.encode(response), as: UTF8.self)) != nil
        }
        #expect(try isShareable { _ in })
        #expect(try !isShareable { $0.url = "https://u:p@example.org/f" })
        for name in ["Set-Cookie", "AUTHORIZATION", "X-My-Token", "Proxy-Authorization", "X\u{e4}-Secret", "a\"b"] {
            #expect(try !isShareable { $0.headers.append(HeaderField(name, "x")) }, "\(name)")
        }
    }

    @Test func emptyPagesAndLastOnesHaveNoCursor() {
        let page = ListedTaskView.page([], total: nil, nextCursor: nil)
        #expect(String(decoding: page, as: UTF8.self) == #"{"tasks":[]}"#)
    }
}
