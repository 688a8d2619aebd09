import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreSnapshotTasksTests {
    let fixture = Fixture()

    @Test func tasksAreFoundByIdStateAndReason() async throws {
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            try [TaskState.running, .waiting, .queued, .waiting, .running].map {
                try transaction.insert(newTask($0)).id
            }
        }
        let (some, running, waiting, rest, network) = try await store.read {
            (
                try $0.tasks([ids[4], TaskID(99), ids[0]]), try $0.runningIDs(),
                try $0.waiting(reason: .retry, limit: 10),
                try $0.waiting(reason: .retry, after: ids[1], limit: 10),
                try $0.waiting(reason: .network, limit: 10)
            )
        }
        #expect(some.map(\.id) == [ids[4], ids[0]])
        #expect(running == [ids[0], ids[4]])
        #expect(waiting.map(\.id) == [ids[1], ids[3]])
        #expect(rest.map(\.id) == [ids[3]])
        #expect(network.isEmpty)
    }

    @Test func countsAreOfOwnerOrSession() async throws {
        let store = try fixture.open()
        let apt = SessionKey(owner: alice, identifier: "apt")
        try await store.write { transaction in
            try transaction.insertSession(SessionRecord(key: apt, createdAt: epoch))
            try transaction.insert(newTask())
            try transaction.insert(newTask(session: "apt"))
            try transaction.insert(newTask(.failed, session: "apt"))
            try transaction.insert(newTask(owner: bob))
        }
        let (all, alices, apts, foreign) = try await store.read {
            (
                try $0.counts(), try $0.counts(owner: alice), try $0.counts(session: apt),
                try $0.counts(owner: bob, session: apt)
            )
        }
        #expect(all[.queued] == 3)
        #expect(alices[.queued] == 2)
        #expect(apts[.queued] == 1)
        #expect(apts[.failed] == 1)
        #expect(apts[.running] == 0)
        #expect(foreign.values.allSatisfy { $0 == 0 })
        let (unfinished, none) = try await store.read {
            (try $0.hasUnfinishedTasks(apt), try $0.hasUnfinishedTasks(.shared(of: UserID(5))))
        }
        #expect(unfinished)
        #expect(!none)
    }
}
