import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0005Tests {
    let fixture = Fixture()

    private func stored(ranges: [ByteRange]) -> Checkpoint {
        Checkpoint(offset: 5, total: 100, partPath: "/p", device: 1, inode: 2, ranges: ranges)
    }

    @Test func rangesComeBackAsTheyWereStored() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        let held = stored(ranges: [ByteRange(10, 20), ByteRange(30, 100)])
        try await store.write { try $0.setCheckpoint(id, held) }
        #expect(try await store.read { try $0.task(id) }?.checkpoint == held)
        try await store.write { try $0.setCheckpoint(id, self.stored(ranges: [])) }
        #expect(try await store.read { try $0.task(id) }?.checkpoint?.ranges == [])
    }

    @Test(arguments: ["'[]'", "'{}'", "'no'", "'7'"])
    func aBadValueIsRefused(_ value: String) async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        try await store.write { try $0.setCheckpoint(id, self.stored(ranges: [])) }
        let error = await transferError {
            try await store.write { try $0.execute("UPDATE checkpoint SET ranges = \(value)") }
        }
        #expect(error?.code == .internal)
    }

    @Test func rangesNeedALength() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        var unknown = stored(ranges: [ByteRange(10, 20)])
        unknown.total = nil
        let checkpoint = unknown
        let error = await transferError { try await store.write { try $0.setCheckpoint(id, checkpoint) } }
        #expect(error?.code == .internal)
    }
}
