import Testing
import TransferModel

@testable import TransferStore

@Suite struct RowUpdateTests {
    private let fixture = Fixture()

    private func add(_ count: Int, to store: TransferStore) async throws -> [TaskID] {
        try await store.write { transaction in
            try (0..<count).map { _ in try transaction.insert(newTask()).id }
        }
    }

    private func change(_ id: TaskID, _ state: TaskState, from: TaskState = .queued) -> StatusChange {
        StatusChange(
            id, from: from, to: status(state), resourceTimeoutAt: after(60),
            result: state == .completed ? TaskResult(file: "/f/\(id)", bytes: 7, sha256: "ab", verified: true) : nil)
    }

    /// Enough rows to fill statements of each size.
    @Test(arguments: [1, 7, 8, 73, 150])
    func storesWhatOneAtATimeWouldStore(count: Int) async throws {
        let store = try fixture.open()
        let ids = try await add(count, to: store)
        try await store.write { transaction in try transaction.update(ids.map { change($0, .running) }) }
        var counts = try await store.read { try $0.counts() }
        #expect(counts[.running] == count && counts[.queued] == 0)
        try await store.write { transaction in
            try transaction.update(ids.map { change($0, .completed, from: .running) })
        }
        counts = try await store.read { try $0.counts() }
        #expect(counts[.completed] == count && counts[.running] == 0)
        for id in ids {
            let record = try #require(try await store.read { try $0.task(id) })
            #expect(record.status == status(.completed))
            #expect(record.result == TaskResult(file: "/f/\(id)", bytes: 7, sha256: "ab", verified: true))
        }
    }

    /// The metrics of each attempt follow those of the earlier attempts. A change without metrics does not touch them.
    @Test func metricsOfAttemptsFollowEachOther() async throws {
        let store = try fixture.open()
        let ids = try await add(2, to: store)
        func end(_ attempt: Int, _ starts: [Int64]) async throws {
            var begun = change(ids[0], .running)
            begun.status.attempts = attempt
            var ended = change(ids[0], .queued, from: .running)
            ended.status.attempts = attempt
            ended.metrics = StoredMetrics(TaskMetrics(starts.map { ExchangeMetrics(fetchStart: $0) }))
            try await store.write { [begun, ended] transaction in
                try transaction.update([begun])
                try transaction.update([ended])
            }
        }
        try await end(1, [1, 2])
        try await end(2, [])
        try await end(3, [3])
        try await store.write { transaction in
            try transaction.add(#require(StoredMetrics(TaskMetrics([ExchangeMetrics(fetchStart: 4)]))), to: ids[0])
        }
        #expect(try await store.read { try $0.metrics(of: ids[0]) }.entries.map(\.fetchStart) == [1, 2, 3, 4])
        #expect(try await store.read { try $0.metrics(of: ids[1]) }.isEmpty)
        try await store.write { try $0.execute("UPDATE task SET metrics = x'01ff'") }
        #expect(try await store.read { try $0.metrics(of: ids[0]) }.isEmpty)
    }

    @Test func keepsTheExpiryWhileTimeCounts() async throws {
        let store = try fixture.open()
        let ids = try await add(2, to: store)
        try await store.write { transaction in try transaction.update([change(ids[0], .running)]) }
        #expect(try await store.read { try $0.nextTimes(after: epoch).resourceTimeout } == after(60))
        try await store.write { transaction in try transaction.update([change(ids[0], .paused, from: .running)]) }
        #expect(try await store.read { try $0.nextTimes(after: epoch).resourceTimeout } == nil)
    }

    @Test func oneInAnotherStateUndoesAll() async throws {
        let store = try fixture.open()
        let ids = try await add(9, to: store)
        await #expect(throws: TransferError.self) {
            try await store.write { transaction in
                try transaction.update(
                    ids.dropLast().map { change($0, .running) } + [change(ids[8], .completed, from: .running)])
            }
        }
        #expect(try await store.read { try $0.counts()[.queued] } == 9)
    }

    @Test func nothingIsNoStatement() async throws {
        let store = try fixture.open()
        try await store.write { try $0.update([]) }
        #expect(try await store.read { try $0.counts().values.allSatisfy { $0 == 0 } })
    }
}
