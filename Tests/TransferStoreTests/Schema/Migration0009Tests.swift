import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0009Tests {
    let fixture = Fixture()

    /// A file of an older database cannot be recognized, so it is never deleted.
    @Test func olderResultsHaveNoMark() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        try await store.write {
            try $0.execute("UPDATE task SET result_file = '/f', result_bytes = 1, result_verified = 1")
        }
        let result = try await store.read { try $0.task(id) }?.result
        #expect(result == TaskResult(file: "/f", bytes: 1, verified: true))
    }

    @Test(arguments: [
        "result_changed_ns = 1", "result_crc32c = 1", "result_inode = 1, result_crc32c = -1",
        "result_inode = 1, result_crc32c = 4294967296",
    ])
    func whatIsNoMarkIsRefused(_ values: String) async throws {
        let store = try fixture.open()
        try await store.add(newTask())
        let error = await transferError { try await store.write { try $0.execute("UPDATE task SET \(values)") } }
        #expect(error?.code == .internal)
    }
}
