import Testing
import TransferCore
import TransferModel

@testable import DaemonKit
@testable import TransferStore

@Suite struct LookAheadTests {
    private static let limits = SlotLimits(global: 64, perHost: 64)

    private func task(_ id: Int64, on host: String = "h", session: String = "s") -> QueuedTask {
        QueuedTask(
            id: TaskID(id), session: SessionKey(owner: UserID(1), identifier: session), host: host, priority: 0.5,
            position: Double(id))
    }

    private func tasks(_ range: ClosedRange<Int64>, on host: String = "h", session: String = "s") -> [QueuedTask] {
        range.map { task($0, on: host, session: session) }
    }

    /// Filled with the answer of a store that has these tasks.
    private func ahead(of queue: [QueuedTask], _ wide: CandidateQuery) async throws -> (LookAhead, SupervisionFixture) {
        let fixture = try SupervisionFixture()
        let store = fixture.store
        let sessions = Set(queue.map(\.session))
        try await store.write { transaction in
            for session in sessions {
                try transaction.insertSession(SessionRecord(key: session, createdAt: Timestamp(milliseconds: 0)))
            }
            for task in queue {
                let status = TaskStatus(state: .queued, createdAt: Timestamp(milliseconds: 0))
                var new = NewTask(session: task.session, spec: TaskSpec(), status: status, host: task.host)
                new.position = task.position
                try transaction.insert(new)
            }
        }
        var ahead = LookAhead()
        ahead.fill(try await store.read { try $0.candidates(wide) }, [:], Self.limits, at: ahead.version)
        return (ahead, fixture)
    }

    private func ids(_ candidates: Candidates?) -> [TaskID: [TaskID]]? {
        candidates.map { found in
            Dictionary(
                uniqueKeysWithValues: found.sessions.filter { !$0.tasks.isEmpty }.map {
                    ($0.tasks[0].id, $0.tasks.map(\.id))
                })
        }
    }

    @Test func answersAsTheStoreWouldUntilItsTasksAreUsedUp() async throws {
        let queue = zip(tasks(1...100, on: "a"), tasks(101...200, on: "b", session: "t")).flatMap { [$0, $1] }
        var (ahead, fixture) = try await ahead(of: queue, CandidateQuery(perLane: 96, limit: 160))
        var query = CandidateQuery(perLane: 12, limit: 20)
        var rounds = 0
        while let found = ahead.candidates(query) {
            let asked = query
            #expect(ids(found) == ids(try await fixture.store.read { try $0.candidates(asked) }))
            let started = Set(found.tasks.prefix(2).map(\.id))
            query.excludedTasks.formUnion(started)
            ahead.remove(Array(started))
            rounds += 1
        }
        #expect(rounds >= 8)
    }

    @Test func aQueueThatWasReadWholeIsKnownToItsEnd() async throws {
        var (ahead, fixture) = try await ahead(of: tasks(1...3), CandidateQuery(perLane: 12, limit: 40))
        defer { fixture.store.close() }
        let query = CandidateQuery(perLane: 6, limit: 10)
        #expect(ahead.candidates(query)?.tasks.count == 3)
        #expect(!ahead.isEmpty)
        ahead.remove([TaskID(1), TaskID(2), TaskID(3)])
        #expect(ahead.candidates(query)?.tasks == [])
        #expect(ahead.isEmpty)
        ahead.forget()
        #expect(!ahead.isEmpty)
    }

    @Test func aLaneThatWasCutIsNotTakenForEmpty() async throws {
        let queue = tasks(1...50, on: "a") + tasks(51...52, on: "b")
        var (ahead, fixture) = try await ahead(of: queue, CandidateQuery(perLane: 4, limit: 40))
        defer { fixture.store.close() }
        let query = CandidateQuery(perLane: 3, limit: 10)
        #expect(ahead.candidates(query)?.tasks.map(\.id.rawValue) == [1, 2, 3, 51, 52])
        ahead.remove([TaskID(1), TaskID(2)])
        #expect(ahead.candidates(query) == nil)
        ahead.remove((1...52).map { TaskID($0) })
        #expect(!ahead.isEmpty)
    }

    @Test func sessionsThatWereNotReadAreNotTakenForEmpty() async throws {
        let queue = tasks(1...1) + tasks(2...2, session: "t")
        var wide = CandidateQuery(perLane: 4, limit: 40)
        wide.sessions = 1
        let (ahead, fixture) = try await ahead(of: queue, wide)
        defer { fixture.store.close() }
        #expect(ahead.candidates(CandidateQuery()) == nil && !ahead.isEmpty)
    }

    @Test func whatAClientWantsNowIsAskedOfTheStore() async throws {
        let (ahead, fixture) = try await ahead(of: tasks(1...3), CandidateQuery(perLane: 12, limit: 40))
        defer { fixture.store.close() }
        var query = CandidateQuery()
        query.wantedTasks = [TaskID(3)]
        #expect(ahead.candidates(query) == nil)
    }

    @Test func nothingIsKnownBeforeTheFirstAnswerAndAfterAChange() async throws {
        #expect(LookAhead().candidates(CandidateQuery()) == nil && !LookAhead().isEmpty)
        var (ahead, fixture) = try await ahead(of: tasks(1...3), CandidateQuery(perLane: 12, limit: 40))
        defer { fixture.store.close() }
        ahead.forget()
        #expect(ahead.candidates(CandidateQuery()) == nil)
    }

    @Test func anAnswerFromBeforeAChangeIsDropped() {
        var ahead = LookAhead()
        let version = ahead.version
        ahead.forget()
        ahead.fill(Candidates(), [:], Self.limits, at: version)
        #expect(ahead.candidates(CandidateQuery()) == nil)
    }

    @Test func whoUsesItUpReadsMoreNextTime() {
        var ahead = LookAhead()
        let query = CandidateQuery(perLane: 3, limit: 5)
        var limits: [Int] = []
        for _ in 0..<5 {
            limits.append(ahead.widened(query).limit)
            ahead.fill(Candidates(), [:], Self.limits, at: ahead.version)
        }
        #expect(limits == [5, 10, 20, 40, 40])
        ahead.forget()
        #expect(ahead.widened(query).limit == 5)
    }
}
