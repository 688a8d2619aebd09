import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreSnapshotBodiesTests {
    let fixture = Fixture()

    @Test func piecesAddUp() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        let whole = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
        try await store.write { try $0.setBody(id, .response, whole) }
        #expect(try await store.read { try $0.bodyLength(of: id, .response) } == 10_000)
        var read: [UInt8] = []
        while read.count < whole.count {
            let offset = ByteCount(Int64(read.count))
            let piece = try await store.read { try $0.body(of: id, .response, from: offset, atMost: 3000) }
            read += try #require(piece)
        }
        #expect(read == whole)
        #expect(try await store.read { try $0.body(of: id, .response, from: 10_000) } == [])
        #expect(try await store.read { try $0.body(of: id, .response, from: 20_000, atMost: 5) } == [])
        #expect(try await store.read { try $0.body(of: id, .response, from: ByteCount(.max), atMost: 5) } == [])
    }

    @Test func anEmptyBodyIsNotNone() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        #expect(try await store.read { try $0.body(of: id, .request) } == nil)
        #expect(try await store.read { try $0.bodyLength(of: id, .request) } == nil)
        try await store.write { try $0.setBody(id, .request, []) }
        #expect(try await store.read { try $0.body(of: id, .request) } == [])
        #expect(try await store.read { try $0.bodyLength(of: id, .request) } == .zero)
    }

    /// The document of the answer does not have such a body.
    @Test(arguments: [Array("text \"x\"".utf8), [0xFF, 0xFE]], [false, true])
    func anAnswerShowsTheBodyThatIsKept(_ body: [UInt8], isBorn: Bool) async throws {
        let store = try fixture.open()
        var task = newTask(.completed)
        task.spec.kind = .data
        let document = StoredDocument(ResponseInfo(url: "u", status: 200), showsKept: true)
        if isBorn {
            task.end = NewTask.End(
                result: TaskResult(bytes: ByteCount(Int64(body.count)), verified: false), metrics: nil,
                response: document, body: body)
        }
        let id = try await store.add(task)
        if !isBorn {
            try await store.write {
                try $0.setBody(id, .response, body, isShown: true)
                try $0.setResponse(id, document)
            }
        }
        let stored = try await store.read { try $0.text("SELECT document FROM response") }
        #expect(stored?.contains("body") == false)
        let shown = ResponseBody(showing: body, isTruncated: false)
        let (record, page) = try await store.read { (try $0.task(id), try $0.page(TaskQuery(owner: alice))) }
        #expect(record?.response?.body == shown)
        #expect(try page.tasks.map { try $0.whole().response?.body } == [shown])
        // A body that is kept for another reason is not the answer's.
        try await store.write { try $0.setBody(id, .response, body) }
        #expect(try await store.read { try $0.task(id) }?.response?.body == nil)
    }

    /// An answer of an earlier build has its body in the document too.
    @Test func earlierAnswersShowTheirBodies() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask(.completed))
        try await store.write { transaction in
            try transaction.execute(
                """
                INSERT INTO response (task, document) VALUES (1, \
                '{"url":"u","status":200,"headers":[],"expectedLength":3,"body":{"text":"old"}}')
                """)
            try transaction.execute(
                "INSERT INTO body (task, role, content) VALUES (1, 'response', CAST('old' AS BLOB))")
        }
        #expect(try await store.read { try $0.task(id) }?.response?.body == ResponseBody(text: "old"))
        let page = try await store.read { try $0.page(TaskQuery(owner: alice)) }
        #expect(page.tasks.first?.responseText?.components(separatedBy: "\"body\"").count == 2)
        #expect(try page.tasks.first?.whole().response?.body == ResponseBody(text: "old"))
    }
}
