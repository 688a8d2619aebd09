import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreTransactionUploadsTests {
    let fixture = Fixture()
    let source = SourceIdentity(device: .max, inode: 7, size: 1_099_511_627_776, modified: 1_700_000_000_123_456_789)

    @Test func progressIsKeptAndForgotten() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        var progress = UploadProgress(
            uploadProtocol: .tus, resourceURL: "https://example.org/files/1", offset: 5, source: source,
            createdAt: epoch)
        progress.partETags = [1: "\"a\"", 12: "\"b\""]
        progress.remoteBefore = RemoteFile(size: 3, modificationTime: nil)
        for offset in [ByteCount(5), 4096] {
            progress.offset = offset
            let stored = progress
            try await store.write { try $0.setUpload(id, stored) }
            #expect(try await store.read { try $0.task(id) }?.upload == stored)
        }
        try await store.write { try $0.setUpload(id, nil) }
        #expect(try await store.read { try $0.task(id) }?.upload == nil)
    }

    @Test func sourceAndBodyComeWithTheTask() async throws {
        let store = try fixture.open()
        var new = newTask()
        new.source = source
        new.requestBody = Array("0123456789".utf8)
        let id = try await store.add(new)
        store.close()
        let again = try fixture.open()
        #expect(try await again.read { try $0.task(id) }?.source == source)
        #expect(try await again.read { try $0.body(of: id, .request) } == Array("0123456789".utf8))
    }

    @Test func theSourceCanBeReplaced() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        var other = source
        other.size = 0
        for identity in [source, other] {
            try await store.write { try $0.setSource(id, identity) }
            #expect(try await store.read { try $0.task(id) }?.source == identity)
        }
        try await store.write { try $0.setSource(id, nil) }
        #expect(try await store.read { try $0.task(id) }?.source == nil)
    }

    @Test func bodiesGoWithTheirTask() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask(.cancelled))
        for role in BodyRole.allCases { try await store.write { try $0.setBody(id, role, [1, 2]) } }
        _ = try await store.write { try $0.delete(id) }
        for role in BodyRole.allCases { #expect(try await store.read { try $0.body(of: id, role) } == nil) }
        let left = try await store.read { try $0.integer("SELECT count(*) FROM body") }
        #expect(left == 0)
    }
}
