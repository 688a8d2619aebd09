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
}
