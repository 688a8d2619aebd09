import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0006Tests {
    let fixture = Fixture()

    @Test(arguments: [nil, "https://mirror.example.org/f"])
    func theOriginComesBackAsItWasStored(_ origin: String?) async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        let held = Checkpoint(offset: 5, total: 100, partPath: "/p", device: 1, inode: 2, origin: origin)
        try await store.write { try $0.setCheckpoint(id, held) }
        #expect(try await store.read { try $0.task(id) }?.checkpoint == held)
        let error = await transferError {
            try await store.write { try $0.execute("UPDATE checkpoint SET origin = ''") }
        }
        #expect(error?.code == .internal)
    }
}
