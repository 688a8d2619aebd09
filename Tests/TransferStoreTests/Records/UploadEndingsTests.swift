import Testing
import TransferModel

@testable import TransferStore

@Suite struct UploadEndingsTests {
    let fixture = Fixture()

    private func begun(_ store: TransferStore, at place: String? = "https://example.org/files/1") async throws
        -> TaskRecord
    {
        let id = try await store.add(newTask())
        let progress = UploadProgress(
            uploadProtocol: .tus, resourceURL: place, offset: 5,
            source: SourceIdentity(device: 1, inode: 2, size: 9, modified: 3), createdAt: epoch)
        try await store.write { try $0.setUpload(id, progress) }
        return try #require(try await store.read { try $0.task(id) })
    }

    private func pending(_ store: TransferStore) async throws -> [UploadEnding] {
        try await store.read { try $0.uploadEndings(limit: 10) }
    }

    @Test func theTaskForgetsWhatIsToBeEnded() async throws {
        let store = try fixture.open()
        let record = try await begun(store)
        try await store.write { try $0.endUpload(of: record, at: after(7)) }
        #expect(try await store.read { try $0.task(record.id) }?.upload == nil)
        let ending = try #require(try await pending(store).first)
        #expect(ending.task == record.id)
        #expect(ending.session == record.session)
        #expect(ending.spec == record.spec)
        #expect(ending.progress == record.upload)
        #expect(ending.failures == 0)
        #expect(ending.recordedAt == after(7))
        #expect(ending.nextAttemptAt == after(7))
    }

    @Test func itOutlivesTaskAndStore() async throws {
        let store = try fixture.open()
        let record = try await begun(store)
        try await store.write { transaction in
            try transaction.endUpload(of: record, at: epoch)
            try transaction.delete(record.id)
        }
        store.close()
        #expect(try await pending(try fixture.open()).map(\.task) == [record.id])
    }

    @Test func whatWasNeverBegunIsNotEnded() async throws {
        let store = try fixture.open()
        for record in [try await begun(store, at: nil), try #require(try await store.read { try $0.task(TaskID(1)) })] {
            try await store.write { try $0.endUpload(of: record, at: epoch) }
        }
        #expect(try await pending(store).isEmpty)
        // An upload that still awaits an answer stays.
        #expect(try await store.read { try $0.task(TaskID(1)) }?.upload != nil)
    }

    @Test func theOneThatIsDueComesFirst() async throws {
        let store = try fixture.open()
        for _ in 0..<3 {
            let record = try await begun(store)
            try await store.write { try $0.endUpload(of: record, at: epoch) }
        }
        let first = try #require(try await pending(store).first)
        try await store.write { try $0.postpone(first, failures: 4, until: after(60)) }
        let order = try await pending(store)
        #expect(order.map(\.task.rawValue) == [2, 3, 1])
        #expect(order.last?.failures == 4)
        #expect(order.last?.nextAttemptAt == after(60))
        #expect(order.last?.recordedAt == epoch)
        try await store.write { try $0.remove(first) }
        #expect(try await pending(store).map(\.task.rawValue) == [2, 3])
    }
}
