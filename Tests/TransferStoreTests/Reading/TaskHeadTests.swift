import Testing
import TransferModel

@testable import TransferStore

@Suite struct TaskHeadTests {
    private let fixture = Fixture()

    @Test func headsSayWhatRecordsDo() async throws {
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            let ids = try TaskState.allCases.map { try transaction.insert(newTask($0)).id }
            try transaction.setCheckpoint(
                ids[1], Checkpoint(offset: 5, partPath: "/d/.f.x-1.dldpart", device: 1, inode: 2))
            try transaction.setUpload(ids[2], UploadProgress(uploadProtocol: .tus, source: nil, createdAt: epoch))
            return ids
        }
        let wanted = [ids[3], TaskID(99), ids[0], ids[1], ids[2], ids[4], ids[5], ids[6]]
        let (heads, records) = try await store.read { (try $0.heads(wanted), try $0.tasks(wanted)) }
        #expect(heads.count == 7)
        #expect(heads == records.map { TaskHead($0) })
        #expect(heads.map(\.hasCheckpoint) == [false, false, true, false, false, false, false])
        #expect(heads.map(\.hasUpload) == [false, false, false, true, false, false, false])
    }

    @Test func noIdsNoHeads() async throws {
        let store = try fixture.open()
        let none = try await store.read { try $0.heads([]) }
        #expect(none.isEmpty)
    }

    @Test func onlyWhatWasAttemptedOrBroughtAPartMayHaveOne() {
        var record = TaskRecord(
            id: TaskID(1), session: .shared(of: alice), spec: TaskSpec(), status: status(.queued), host: "", position: 1
        )
        #expect(!TaskHead(record).mayHavePart)
        record.status.attempts = 1
        #expect(TaskHead(record).mayHavePart)
        record.spec.kind = .upload
        #expect(!TaskHead(record).mayHavePart)
        record.spec.kind = .download
        record.status.attempts = 0
        record.checkpoint = Checkpoint(offset: 5, partPath: "/d/.f.x-1.dldpart", device: 1, inode: 2)
        #expect(TaskHead(record).mayHavePart)
    }
}
