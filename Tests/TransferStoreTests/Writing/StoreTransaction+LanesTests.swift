import CSQLite
import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreTransactionLanesTests {
    let fixture = Fixture()

    private func heldBack(_ hosts: Set<String>, perLane: Int = 6, limit: Int = 64) -> CandidateQuery {
        var query = CandidateQuery(perLane: perLane, limit: limit)
        query.access = { hosts.contains($1) ? .held : .open }
        return query
    }

    private func candidates(_ store: TransferStore, _ query: CandidateQuery) async throws -> Candidates {
        try await store.read { try $0.candidates(query) }
    }

    /// Returns the number of steps of SQLite's machine for one walk over the lanes and their heads.
    private func steps(_ store: TransferStore, _ query: CandidateQuery) async throws -> Int {
        try store.database.read { database in
            let statements = try [StoreSnapshot.sessionsSQL, StoreSnapshot.lanesSQL, StoreSnapshot.headsSQL].map {
                try database.statement($0).handle
            }
            for statement in statements { sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1) }
            _ = try StoreSnapshot(database).candidates(query)
            return statements.map { Int(sqlite3_stmt_status($0, SQLITE_STMTSTATUS_VM_STEP, 1)) }.reduce(0, +)
        }
    }

    @Test func aClaimPastThousandsOfHeldHostsReadsNoneOfThem() async throws {
        let store = try fixture.open()
        let held = Set((0..<4_000).map { "held\($0)" })
        let alive = try await store.write { transaction in
            _ = try transaction.insert(held.sorted().map { newTask(host: $0) })
            return try transaction.insert(newTask(host: "alive")).id
        }
        let query = heldBack(held)
        let first = try await candidates(store, query)
        #expect(first.tasks.map(\.id) == [alive] && first.heldLanes.count == 4_000)
        #expect(try await steps(store, query) > 4_000)
        try await store.write { try $0.hold(first.heldLanes) }
        let second = try await candidates(store, query)
        #expect(second.tasks.map(\.id) == [alive] && second.heldLanes.isEmpty)
        #expect(try await steps(store, query) < 150)
        // When one lane is released, only that lane is read again.
        try await store.write { try $0.release(hosts: ["held7", "unknown"]) }
        #expect(try await candidates(store, query).heldLanes.count == 1)
        #expect(Set(try await candidates(store, CandidateQuery()).tasks.map(\.host)) == ["held7", "alive"])
        #expect(try await steps(store, query) < 200)
        try await store.write { try $0.releaseAllLanes() }
        #expect(try await candidates(store, CandidateQuery(perLane: 1, limit: 30_000)).tasks.count == 4_001)
    }

    @Test func whatIsQueuedAtAHeldHostStaysThereUntilItIsReleased() async throws {
        let store = try fixture.open()
        let waiting = try await store.write { transaction in
            try transaction.insert(newTask(host: "a"))
            var waiting = newTask(.waiting, host: "a")
            waiting.status.failuresInRow = 2
            return try transaction.insert(waiting).id
        }
        let lanes = try await candidates(store, heldBack(["a"])).heldLanes
        #expect(lanes.count == 1)
        try await store.write { try $0.hold(lanes) }
        var queued = status(.queued)
        queued.failuresInRow = 2
        try await store.write { [queued] in
            _ = try $0.update(waiting, from: .waiting, to: queued)
            try $0.insert(newTask(host: "a"))
        }
        #expect(try await candidates(store, CandidateQuery()).tasks.isEmpty)
        try await store.write { try $0.release(hosts: ["a"]) }
        #expect(try await candidates(store, CandidateQuery()).tasks.map(\.failures) == [0, 2, 0])
    }
}
