import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct RecentRecordsTests {
    private let fixture = Fixture()

    /// Reads the record from its rows.
    private func read(_ id: TaskID, in transaction: StoreTransaction) throws -> TaskRecord? {
        try StoreSnapshot(transaction.connection).task(id)
    }

    private func rich() -> NewTask {
        var task = newTask(priority: 0.25)
        task.spec.headers = [HeaderField("X-A", "1"), HeaderField("x-a", "ü")]
        task.spec.timeoutIntervalForResource = 0.1
        task.spec.deadlineAt = after(5)
        task.spec.description = "a \"description\""
        task.spec.tags = ["b", "a"]
        task.destinationDevice = .max
        task.resourceTimeoutAt = after(7)
        return task
    }

    @Test func whatWasAddedIsKnownAsItWillBeRead() async throws {
        let store = try fixture.open()
        let id = try await store.add(rich())
        try await store.write { transaction in
            let known = try #require(transaction.recent?.record(id))
            #expect(try read(id, in: transaction) == known)
            #expect(try transaction.task(id) == known)
            #expect(transaction.recent?.stored(id)?.expiry == after(7))
        }
    }

    @Test func aNewStatusIsKnownAsItIsStored() async throws {
        let store = try fixture.open()
        let id = try await store.add(rich())
        try await store.write { transaction in
            var running = status(.running)
            running.attempts = 3
            running.startedAt = after(1)
            #expect(try transaction.update(id, from: .queued, to: running, resourceTimeoutAt: after(9)))
            let known = try #require(transaction.recent?.record(id))
            #expect(known.status == running)
            #expect(try read(id, in: transaction) == known)
            #expect(transaction.recent?.stored(id)?.expiry == after(9))
            #expect(try transaction.update(id, from: .running, to: status(.completed)))
            #expect(transaction.recent?.record(id) == nil)
        }
    }

    /// Every statement that changes a row must also update the memory.
    @Test(arguments: [
        "UPDATE task SET position = 9", "DELETE FROM task", "INSERT INTO response (task, document) VALUES (1, '{}')",
        "INSERT INTO upload VALUES (1, '{}')", "INSERT INTO source VALUES (1, 1, 1, 1, 1)",
        "INSERT INTO checkpoint (task, part_offset, part_path, device, inode) VALUES (1, 0, '/p', 1, 1)",
    ])
    func aChangeOfARowIsHeardOf(sql: String) async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        try await store.write { transaction in
            #expect(transaction.recent?.record(id) != nil)
            try transaction.execute(sql)
            #expect(transaction.recent?.record(id) == nil)
        }
    }

    @Test func whatWasUndoneIsForgotten() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        for _ in 0..<2 {
            try? await store.write { transaction in
                #expect(try transaction.update(id, from: .queued, to: status(.running)))
                throw TransferError(.internal, "Undo it.")
            }
            let (record, read) = try await store.write { (try $0.task(id), try $0.status(of: id)) }
            #expect(record?.status.state == .queued && read?.state == .queued)
        }
    }

    @Test func whatAnotherProgramChangedIsReadAgain() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        let other = try Connection(fixture.database)
        try other.write { try $0.execute("UPDATE task SET position = 99") }
        other.close()
        let position = try await store.write { try $0.task(id)?.position }
        #expect(position == 99)
    }

    /// There are more records than the memory has room for. A record that is read replaces one that is not.
    @Test func isBounded() async throws {
        let store = try fixture.open()
        let count = RecentRecords.most / RecentRecords.least + 10
        let ids = try await store.write { transaction in
            try transaction.insert(Array(repeating: newTask(), count: count))
        }
        try await store.write { transaction in
            let recent = try #require(transaction.recent)
            #expect(ids.filter { recent.record($0) != nil }.count < count)
            #expect(recent.record(ids[0]) != nil && recent.record(ids[count - 1]) == nil)
            #expect(try transaction.task(ids[count - 1])?.id == ids[count - 1])
            #expect(recent.record(ids[0]) == nil && recent.record(ids[count - 1]) != nil)
        }
    }

    /// If a column does not change, no index is written.
    @Test func theExpiryIsWrittenWhereItChanges() async throws {
        let store = try fixture.open()
        var task = newTask()
        task.resourceTimeoutAt = after(60)
        let id = try await store.add(task)
        for (given, stored) in [(60_001, 60_000), (60_003, 60_003)] as [(Int64, Int64)] {
            try await store.write { transaction in
                let state = try #require(try transaction.status(of: id)).state
                let next: TaskState = state == .queued ? .running : .queued
                try transaction.update([
                    StatusChange(
                        id, from: state, to: status(next),
                        resourceTimeoutAt: Timestamp(milliseconds: epoch.rawValue + given))
                ])
            }
            let expiry = try await store.read { try $0.nextTimes(after: epoch).resourceTimeout }
            #expect(expiry?.rawValue == epoch.rawValue + stored)
        }
    }
}
