import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreSnapshotQueueTests {
    let fixture = Fixture()

    private func plan(_ store: TransferStore, _ sql: String, _ arguments: [any Bindable]) async throws -> String {
        try store.database.read { database in
            try database.plan(sql, arguments).joined(separator: "\n")
        }
    }

    private func ids(_ store: TransferStore, _ query: CandidateQuery) async throws -> [TaskID] {
        try await store.read { try $0.candidates(query).tasks.map(\.id) }
    }

    @Test func headsOfEachSessionBestFirst() async throws {
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            try [
                newTask(host: "a", priority: 0.5), newTask(host: "a", priority: 0.9), newTask(host: "a", priority: 0.5),
                newTask(host: "b", priority: 0.5), newTask(host: "b", priority: 0.1), newTask(.paused, host: "c"),
                newTask(owner: bob, host: "b", priority: 0.7),
            ].map { try transaction.insert($0).id }
        }
        let all = try await store.read { try $0.candidates(CandidateQuery()) }
        #expect(all.sessions.map(\.session) == [.shared(of: alice), .shared(of: bob)])
        #expect(all.tasks.map(\.id) == [ids[1], ids[0], ids[2], ids[3], ids[4], ids[6]] && !all.hasMore)
        let last = QueuedTask(id: ids[6], session: .shared(of: bob), host: "b", priority: 0.7, position: 7)
        #expect(all.tasks.last == last)
        let one = try await store.read { try $0.candidates(CandidateQuery(perLane: 1)) }
        #expect(one.tasks.map(\.id) == [ids[1], ids[3], ids[6]])
        #expect(one.sessions.map(\.cutHosts) == [["a", "b"], ["b"]])
        var query = CandidateQuery()
        query.sessions = 1
        query.order = { $0.reversed() }
        let bobs = try await store.read { [query] in try $0.candidates(query) }
        #expect(bobs.tasks.map(\.id) == [ids[6]] && bobs.isCut)
        query = CandidateQuery(perLane: 1)
        query.access = { $1 == "a" ? .held : .open }
        query.excludedTasks = [ids[3]]
        #expect(try await self.ids(store, query) == [ids[4], ids[6]])
    }

    @Test func aProbeIsTheBestThatFailedLeastOften() async throws {
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            try (0..<5).map { index in
                var new = newTask(host: "a", priority: index == 4 ? 0.1 : 0.5)
                if index != 2, index != 4 { new.status.failuresInRow = index == 3 ? 1 : 2 }
                return try transaction.insert(new).id
            }
        }
        var query = CandidateQuery()
        query.access = { _, _ in .one }
        #expect(try await self.ids(store, query) == [ids[0]])
        query.access = { _, _ in .probe }
        let found = try await store.read { [query] in try $0.candidates(query) }
        #expect(found.tasks.map(\.id) == [ids[2]] && found.sessions[0].cutHosts == ["a"])
        query.excludedTasks = [ids[2]]
        #expect(try await self.ids(store, query) == [ids[4]])
        query.excludedTasks = [ids[2], ids[4]]
        #expect(try await self.ids(store, query) == [ids[3]])
        query.wantedTasks = [ids[0], TaskID(99)]
        #expect(try await self.ids(store, query) == [ids[3], ids[0]])
        query.access = { _, _ in .pausing }
        let none = try await store.read { [query] in try $0.candidates(query) }
        #expect(none.tasks.map(\.id) == [ids[0]] && none.heldLanes.isEmpty)
    }

    /// Compared with sorting the whole queue: many lanes, equal priorities and positions, several limits.
    @Test func theEarlyEndOfTheWalkLosesNothing() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            var generator = SeededGenerator(state: 7)
            for _ in 0..<600 {
                var new = newTask(
                    host: "h\(Int.random(in: 0..<40, using: &generator))",
                    priority: Double(Int.random(in: 0...3, using: &generator)) / 4)
                new.position = Double(Int.random(in: 0..<10, using: &generator))
                try transaction.insert(new)
            }
        }
        let everything = try await store.read { try $0.candidates(CandidateQuery(perLane: 1000, limit: 1000)).tasks }
        #expect(everything.count == 600)
        for (perLane, limit) in [(1, 8), (2, 9), (6, 64), (3, 200), (100, 10)] {
            var taken: [String: Int] = [:]
            let expected = everything.filter { task in
                taken[task.host, default: 0] += 1
                return taken[task.host, default: 0] <= perLane
            }.prefix(limit)
            let query = CandidateQuery(perLane: perLane, limit: limit)
            let found = try await store.read { try $0.candidates(query) }
            #expect(found.tasks.map(\.id) == expected.map(\.id))
            #expect(found.hasMore)
        }
    }

    @Test func theClaimReadsOnlyIndices() async throws {
        let store = try fixture.open()
        let sessions = try await plan(store, StoreSnapshot.sessionsSQL, [])
        #expect(sessions.contains("SEARCH lane USING INDEX lane_open (session>?)") && !sessions.contains("SCAN lane"))
        let lanes = try await plan(store, StoreSnapshot.lanesSQL, [1])
        #expect(lanes == "SEARCH lane USING INDEX lane_open (session=?)")
        let heads = try await plan(store, StoreSnapshot.headsSQL, [1])
        #expect(heads == "SEARCH task USING INDEX task_queue (lane=?)")
        let untried = try await plan(store, StoreSnapshot.untriedSQL, [1])
        #expect(untried == "SEARCH task USING INDEX task_queue (lane=?)")
    }

    @Test func whatFallsDueIsFoundByItsIndex() async throws {
        let store = try fixture.open()
        for (sql, index) in [
            (
                "SELECT min(next_attempt_at) FROM task WHERE state = 'waiting' AND next_attempt_at > ?",
                "task_next_attempt"
            ),
            ("SELECT min(deadline_at) FROM task WHERE finished_at IS NULL AND deadline_at > ?", "task_deadline"),
            ("SELECT min(expires_at) FROM task WHERE finished_at IS NULL AND expires_at > ?", "task_expiry"),
        ] {
            let plan = try await plan(store, sql, [0])
            #expect(plan.contains(index), "\(plan)")
        }
    }

    @Test func timesOfWaitingTasksAndDeadlines() async throws {
        let store = try fixture.open()
        let (waiting, dated, timed) = try await store.write { transaction in
            var waiting = newTask(.waiting)
            waiting.status.nextAttemptAt = after(10)
            var dated = newTask(.paused)
            dated.spec.deadlineAt = after(20)
            var timed = newTask(.running)
            timed.resourceTimeoutAt = after(30)
            var over = newTask(.completed)
            over.spec.deadlineAt = after(1)
            try transaction.insert(over)
            return (
                try transaction.insert(waiting).id, try transaction.insert(dated).id, try transaction.insert(timed).id
            )
        }
        let next = try await store.read { try $0.nextTimes(after: epoch) }
        #expect(next == NextTimes(attempt: after(10), deadline: after(20), resourceTimeout: after(30)))
        #expect(next.earliest == after(10))
        let later = try await store.read { try $0.nextTimes(after: after(20)) }
        #expect(later == NextTimes(attempt: nil, deadline: nil, resourceTimeout: after(30)))
        let due: [(Int64, [TaskID], [TaskID])] = [
            (9, [], []), (10, [waiting], []), (20, [waiting], [dated]), (30, [waiting], [dated, timed]),
        ]
        for (second, attempts, deadlines) in due {
            let (a, d) = try await store.read {
                (try $0.dueWaiting(at: after(second), limit: 9), try $0.dueDeadlines(at: after(second), limit: 9))
            }
            #expect(a == attempts)
            #expect(d == deadlines)
        }
        let timeouts = try await store.read { try $0.dueResourceTimeouts(at: after(30), limit: 9) }
        #expect(timeouts == [timed])
    }

    @Test func theResourceTimeoutStaysUntilTimeNoLongerCounts() async throws {
        let store = try fixture.open()
        var new = newTask(.queued)
        new.resourceTimeoutAt = after(30)
        let id = try await store.add(new)
        let expiry: @Sendable () async throws -> Timestamp? = {
            try await store.read { try $0.nextTimes(after: epoch).resourceTimeout }
        }
        try await store.write { _ = try $0.update(id, from: .queued, to: status(.running)) }
        #expect(try await expiry() == after(30))
        try await store.write {
            _ = try $0.update(id, from: .running, to: status(.queued), resourceTimeoutAt: after(40))
        }
        #expect(try await expiry() == after(40))
        try await store.write {
            _ = try $0.update(id, from: .queued, to: status(.paused), resourceTimeoutAt: after(50))
        }
        #expect(try await expiry() == nil)
        try await store.write {
            _ = try $0.update(id, from: .paused, to: status(.queued), resourceTimeoutAt: after(60))
            _ = try $0.update(id, from: .queued, to: status(.queued), resourceTimeoutAt: .some(nil))
        }
        #expect(try await expiry() == nil)
    }
}
