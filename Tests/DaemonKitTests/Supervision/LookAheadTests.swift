import Testing
import TransferModel

@testable import DaemonKit
@testable import TransferStore

@Suite struct LookAheadTests {
    private let session = SessionKey(owner: UserID(1), identifier: "s")

    private func task(_ id: Int64, on host: String = "h") -> QueuedTask {
        QueuedTask(id: TaskID(id), session: session, host: host, priority: 0.5, position: Double(id))
    }

    private func tasks(_ range: ClosedRange<Int64>, on host: String = "h") -> [QueuedTask] {
        range.map { task($0, on: host) }
    }

    /// Filled with what a store of these tasks answers.
    private func ahead(of queue: [QueuedTask], _ wide: CandidateQuery) -> LookAhead {
        var ahead = LookAhead()
        ahead.fill(answer(queue, wide), [:], for: wide, at: ahead.version)
        return ahead
    }

    /// What the store says to a query: best first, so many of each lane, so many in all.
    private func answer(_ queue: [QueuedTask], _ query: CandidateQuery) -> [QueuedTask] {
        var counts: [String: Int] = [:]
        let capped = queue.filter { !query.excludedTasks.contains($0.id) }.filter { task in
            counts[task.host, default: 0] += 1
            return counts[task.host, default: 0] <= query.perLane
        }
        return Array(capped.prefix(query.limit))
    }

    @Test func answersAsTheStoreWouldUntilItsTasksAreUsedUp() {
        let queue = zip(tasks(1...100, on: "a"), tasks(101...200, on: "b")).flatMap { [$0, $1] }
        var ahead = ahead(of: queue, CandidateQuery(perLane: 12, limit: 40))
        var query = CandidateQuery(perLane: 3, limit: 5)
        var rounds = 0
        while let found = ahead.candidates(query) {
            #expect(found == answer(queue, query))
            query.excludedTasks.formUnion(found.prefix(2).map(\.id))
            ahead.remove(Set(found.prefix(2).map(\.id)))
            rounds += 1
        }
        #expect(rounds >= 8)
    }

    @Test func aQueueThatWasReadWholeIsKnownToItsEnd() {
        var ahead = ahead(of: tasks(1...3), CandidateQuery(perLane: 12, limit: 40))
        let query = CandidateQuery(perLane: 6, limit: 10)
        #expect(ahead.candidates(query)?.count == 3)
        #expect(!ahead.isEmpty)
        ahead.remove([TaskID(1), TaskID(2), TaskID(3)])
        #expect(ahead.candidates(query) == [])
        #expect(ahead.isEmpty)
        ahead.forget()
        #expect(!ahead.isEmpty)
    }

    @Test func aLaneThatWasCutIsNotTakenForEmpty() {
        let queue = tasks(1...50, on: "a") + tasks(51...52, on: "b")
        var ahead = ahead(of: queue, CandidateQuery(perLane: 4, limit: 40))
        let query = CandidateQuery(perLane: 3, limit: 10)
        #expect(ahead.candidates(query) == answer(queue, query))
        ahead.remove([TaskID(1), TaskID(2)])
        #expect(ahead.candidates(query) == nil)
        ahead.remove(Set((1...52).map { TaskID($0) }))
        #expect(!ahead.isEmpty)
    }

    @Test func nothingIsKnownBeforeTheFirstAnswerAndAfterAChange() {
        #expect(LookAhead().candidates(CandidateQuery()) == nil)
        var ahead = ahead(of: tasks(1...3), CandidateQuery(perLane: 12, limit: 40))
        ahead.forget()
        #expect(ahead.candidates(CandidateQuery()) == nil)
    }

    @Test func anAnswerFromBeforeAChangeIsDropped() {
        var ahead = LookAhead()
        let version = ahead.version
        ahead.forget()
        ahead.fill(tasks(1...3), [:], for: CandidateQuery(perLane: 12, limit: 40), at: version)
        #expect(ahead.candidates(CandidateQuery()) == nil)
    }

    @Test func whoUsesItUpReadsMoreNextTime() {
        var ahead = LookAhead()
        let query = CandidateQuery(perLane: 3, limit: 5)
        var limits: [Int] = []
        for _ in 0..<5 {
            let wide = ahead.widened(query)
            limits.append(wide.limit)
            ahead.fill([], [:], for: wide, at: ahead.version)
        }
        #expect(limits == [5, 10, 20, 40, 40])
        ahead.forget()
        #expect(ahead.widened(query).limit == 5)
    }
}
