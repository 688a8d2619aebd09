import TestSupport
import Testing
import TransferModel

@testable import TransferStore

@Suite struct TalliesTests {
    private let fixture = Fixture()

    private func expectAgreement(_ store: TransferStore) throws {
        try store.database.read { try expectDerivedRowsAgree($0) }
    }

    /// A commit with many changes writes each counter once.
    @Test func aCommitWritesEachCounterOnce() async throws {
        let store = try fixture.open()
        let ids = try await store.write { try $0.insert((0..<64).map { _ in newTask() }) }
        let before = try store.database.write { try $0.integer("SELECT total_changes()") ?? 0 }
        try await store.write { transaction in
            try transaction.update(
                ids.map { StatusChange($0, from: .queued, to: status(.running), resourceTimeoutAt: nil) })
        }
        let after = try store.database.write { try $0.integer("SELECT total_changes()") ?? 0 }
        // 64 tasks, two states, one lane.
        #expect(after - before == 67)
        try expectAgreement(store)
    }

    /// Every query inside a body sees the body's changes.
    @Test func aBodySeesItsOwnCounts() async throws {
        let store = try fixture.open()
        let shared = SessionKey.shared(of: alice)
        try await store.write { transaction in
            #expect(try !transaction.hasUnfinishedTasks(shared))
            let id = try transaction.insert(newTask()).id
            #expect(try transaction.hasUnfinishedTasks(shared))
            #expect(try transaction.counts()[.queued] == 1)
            #expect(try transaction.candidates(CandidateQuery()).tasks.map(\.id) == [id])
            #expect(try transaction.update(id, from: .queued, to: status(.running)))
            #expect(try transaction.candidates(CandidateQuery()).tasks.isEmpty)
            #expect(try transaction.update(id, from: .running, to: status(.completed)))
            #expect(try !transaction.hasUnfinishedTasks(shared))
            #expect(try transaction.append(event()) == SequenceNumber(1))
            #expect(try transaction.eventHead() == SequenceNumber(1))
            #expect(try transaction.eventCounts() == [alice: 1])
        }
        try expectAgreement(store)
    }

    @Test func whatIsUndoneDoesNotCount() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        for _ in 0..<2 {
            _ = await transferError {
                try await store.write { transaction in
                    _ = try transaction.insert((0..<3).map { _ in newTask(host: "other") })
                    try transaction.append(event())
                    #expect(try transaction.update(id, from: .queued, to: status(.running)))
                    throw TransferError(.internal, "Undo it.")
                }
            }
            try expectAgreement(store)
        }
        #expect(try await store.write { try $0.insert(newTask()).id } == TaskID(2))
        #expect(try await store.write { try $0.append(event()) } == SequenceNumber(1))
        try expectAgreement(store)
    }

    /// The triggers in the database count the changes of another program, and the counts in memory are discarded.
    @Test func anotherProgramsChangesCount() async throws {
        let store = try fixture.open()
        let ids = try await store.write { try $0.insert((0..<4).map { _ in newTask() }) }
        #expect(try await store.write { try $0.hasUnfinishedTasks(.shared(of: alice)) })
        let other = try Connection(fixture.database)
        try other.execute(
            "UPDATE task SET state = 'paused', budget_mark = NULL WHERE id = 1; DELETE FROM task WHERE id = 2")
        try other.execute("UPDATE counter SET value = 9 WHERE name = 'task'")
        other.close()
        try expectAgreement(store)
        #expect(try await store.write { try $0.update(ids[2], from: .queued, to: status(.running)) })
        try expectAgreement(store)
        #expect(try await store.add(newTask()) == TaskID(10))
        #expect(try await store.read { try $0.counts()[.paused] } == 1)
    }

    /// A task is removed, moved and damaged.
    @Test func everyChangeOfATaskCounts() async throws {
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            try transaction.insert((0..<5).map { newTask(host: "h\($0)", priority: 0.5) })
        }
        try await store.write { try $0.setPosition(ids[0], 77) }
        try expectAgreement(store)
        try await store.write { try $0.setSpec(ids[1], newTask(priority: 0.75).spec, host: "h0") }
        try expectAgreement(store)
        try await store.write { transaction in
            _ = try transaction.setAside(ids[2], because: TransferError(.internal, "It is damaged."), at: epoch)
        }
        try expectAgreement(store)
        try await store.write { try $0.delete([ids[3], ids[4], ids[3], TaskID(99)]) }
        try expectAgreement(store)
        #expect(try store.database.read { try $0.texts("SELECT host FROM lane ORDER BY host") } == ["h0", "h2"])
    }
}
