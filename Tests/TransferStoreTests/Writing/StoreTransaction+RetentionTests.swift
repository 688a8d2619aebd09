import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreTransactionRetentionTests {
    let fixture = Fixture()

    @Test func historyGoesOldestFirstInBatches() async throws {
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            try (Int64(0)..<10).map { number in
                var new = newTask(.completed)
                new.status.finishedAt = after(10 - number)
                return try transaction.insert(new).id
            }
        }
        let unfinished = try await store.add(newTask(.paused))
        let first = try await expire(store, before: after(6), limit: 3)
        #expect(first == [ids[9], ids[8], ids[7]])
        let second = try await expire(store, before: after(6), limit: 3)
        #expect(second == [ids[6], ids[5]])
        let third = try await expire(store, before: after(6), limit: 3)
        #expect(third.isEmpty)
        let (counts, kept) = try await store.read { (try $0.counts(), try $0.task(unfinished)) }
        #expect(counts[.completed] == 5)
        #expect(kept != nil)
    }

    private func expire(_ store: TransferStore, before time: Timestamp, limit: Int) async throws -> [TaskID] {
        let old = try await store.read { try $0.tasks($0.history(before: time, limit: limit)) }
        return try await store.write { try $0.expire(old, before: time) }.map(\.id)
    }

    @Test func whatIsNoHistoryAnyMoreStays() async throws {
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            try (0..<3).map { _ in try transaction.insert(newTask(.failed)).id }
        }
        let old = try await store.read { try $0.tasks($0.history(before: after(6), limit: 10)) }
        #expect(old.map(\.id) == ids)
        // The task was retried after the read, and ended again later.
        _ = try await store.write { transaction in
            (
                try transaction.update(ids[0], from: .failed, to: status(.queued)),
                try transaction.update(ids[1], from: .failed, to: status(.failed, at: after(10)))
            )
        }
        let expired = try await store.write { try $0.expire(old, before: after(6)) }
        #expect(expired.map(\.id) == [ids[2]])
        let left = try await store.read { try $0.tasks(ids) }
        #expect(left.map(\.id) == [ids[0], ids[1]])
    }

    /// A store with ten events, one second apart.
    private func storeWithEvents() async throws -> TransferStore {
        let store = try fixture.open()
        try await store.write { transaction in
            for second in Int64(1)...10 { try transaction.append(event(at: after(second))) }
        }
        return store
    }

    private func kept(_ store: TransferStore) async throws -> [Int64] {
        try await store.read { try $0.events(EventQuery()).compactMap { $0.sequence?.rawValue } }
    }

    @Test func eventsExpireByAge() async throws {
        let store = try await storeWithEvents()
        #expect(try await store.write { try $0.expireEvents(before: after(5), limit: 3) })
        #expect(try await kept(store) == Array(4...10))
        #expect(try await !store.write { try $0.expireEvents(before: after(5), limit: 3) })
        #expect(try await kept(store) == Array(5...10))
        #expect(try await !store.write { try $0.expireEvents(before: after(5), limit: 3) })
        #expect(try await store.read { try $0.eventCounts() } == [alice: 6])
        let start = try await store.read { try $0.firstEventKept() }
        #expect(start == SequenceNumber(5))
    }

    @Test func theOldestEventsOfOneOwnerExpire() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            for number in 0..<10 { try transaction.append(event(owner: number % 3 == 0 ? bob : alice)) }
        }
        #expect(try await store.read { try $0.eventCounts() } == [alice: 6, bob: 4])
        for expected in [[Int64(2), 3, 5], [6, 8]] {
            let limit = expected.count
            let oldest = try await store.read { try $0.oldestEvents(of: alice, limit: limit) }
            #expect(oldest.map(\.rawValue) == expected)
            try await store.write { try $0.expireEvents(oldest, of: alice) }
        }
        #expect(try await kept(store) == [1, 4, 7, 9, 10])
        let (counts, starts) = try await store.read { snapshot in
            (try snapshot.eventCounts(), try [alice, bob, nil].map { try snapshot.firstEventKept(of: $0).rawValue })
        }
        #expect(counts == [alice: 1, bob: 4])
        #expect(starts == [9, 1, 9])
        // The limit on age removes the rest across the gaps, and reports only the owners that lose events.
        #expect(try await store.write { try $0.expireEvents(before: after(1), limit: 4) })
        #expect(try await store.read { try $0.firstEventKept(of: bob) }.rawValue == 5)
        while try await store.write({ try $0.expireEvents(before: after(1), limit: 4) }) {}
        #expect(try await kept(store).isEmpty)
        #expect(try await store.read { try $0.eventCounts() }.isEmpty)
    }

    /// If a body throws, its events and its counts are undone.
    @Test func whatIsUndoneIsNotCounted() async throws {
        let store = try await storeWithEvents()
        _ = await transferError {
            try await store.write { transaction in
                try transaction.append(event())
                throw TransferError(.internal, "undone")
            }
        }
        #expect(try await store.read { try $0.eventCounts() } == [alice: 10])
    }

    @Test func anEmptiedLogGoesOnWithItsNumbers() async throws {
        let store = try await storeWithEvents()
        _ = try await store.write { try $0.expireEvents(before: after(100), limit: 100) }
        let (first, head) = try await store.read { (try $0.firstEventKept(), try $0.eventHead()) }
        #expect(first == SequenceNumber(11))
        #expect(head == SequenceNumber(10))
        let next = try await store.write { try $0.append(event()) }
        #expect(next == SequenceNumber(11))
    }

    @Test func aYoungEventKeepsOlderLookingOnesBehindIt() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            for second in [Int64(1), 50, 2, 3] { try transaction.append(event(at: after(second))) }
        }
        _ = try await store.write { try $0.expireEvents(before: after(10), limit: 100) }
        #expect(try await kept(store) == [2, 3, 4])
    }

    /// The tokens of existing tasks stay, because a task is looked up by its token.
    @Test func tokensOfRemovedTasksExpire() async throws {
        let store = try fixture.open()
        for (number, second) in [Int64(0), 10, 20].enumerated() {
            var new = newTask()
            new.spec.clientToken = "t\(number)"
            new.status = TaskStatus(state: .queued, createdAt: after(second))
            try await store.add(new)
        }
        try await store.write { try $0.delete([TaskID(1), TaskID(3)]) }
        let removed = try await store.write { try $0.expireClientTokens(before: after(15), limit: 10) }
        #expect(removed == 1)
        let uses = try await store.read { snapshot in
            try (0..<3).map { try snapshot.use(ofToken: "t\($0)", owner: alice, notBefore: epoch) }
        }
        #expect(uses.map { $0?.task } == [nil, TaskID(2), TaskID(3)])
        #expect(uses.map { $0?.isRemoved } == [nil, false, true])
    }

    @Test func sessionsThatAreOverGoIfNothingIsLeftOfThem() async throws {
        let store = try fixture.open()
        let names = ["empty", "task", "event", "young", "active"]
        try await store.write { transaction in
            for name in names {
                var session = SessionRecord(
                    key: SessionKey(owner: alice, identifier: name), createdAt: name == "young" ? after(100) : epoch)
                session.state = name == "active" ? .active : .invalidated
                try transaction.insertSession(session)
            }
            _ = try transaction.insert(newTask(.completed, session: "task"))
            _ = try transaction.append(event(.taskFailed, session: "event"))
            _ = try transaction.append(event(.sessionInvalidated, session: "empty"))
        }
        #expect(try await store.write { try $0.expireSessions(before: after(50), limit: 10) } == 1)
        let left = try await store.read { try $0.sessions(owner: alice) }.map(\.key.identifier)
        #expect(Set(left) == Set(names + ["shared"]).subtracting(["empty"]))
        // The name is free.
        try await store.write { transaction in
            let key = SessionKey(owner: alice, identifier: "empty")
            #expect(try transaction.session(key) == nil)
            try transaction.insertSession(SessionRecord(key: key, createdAt: epoch))
        }
    }
}
