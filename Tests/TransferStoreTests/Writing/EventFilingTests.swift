import Testing
import TransferModel

@testable import TransferStore

@Suite struct EventFilingTests {
    let fixture = Fixture()

    private func append(_ count: Int, to store: TransferStore) async throws {
        try await store.write { transaction in
            _ = try transaction.append((0..<count).map { event(.taskStarted, task: TaskID(Int64($0 % 100) + 1)) })
        }
    }

    private func numbers(_ store: TransferStore, _ query: EventQuery) async throws -> [Int64] {
        try await store.eventPage(query).events.compactMap { $0.sequence?.rawValue }
    }

    private func filed(_ store: TransferStore) async throws -> (upTo: Int64, rows: Int64) {
        try await store.read {
            let rows = try $0.integer("SELECT count(*) FROM event INDEXED BY event_task WHERE filed = 1")
            return (try $0.filedEvents().rawValue, rows ?? 0)
        }
    }

    /// However many events are filed, the list of one task's events is the same, in the order of the log.
    @Test func filedEventsAndLaterOnesAreOneList() async throws {
        let store = try fixture.open()
        try await append(1000, to: store)
        var query = EventQuery(limit: 1000)
        query.tasks = [TaskID(7)]
        let all = (0..<10).map { Int64($0 * 100 + 7) }
        for count: Int64 in [0, 350, 700, 10] {
            if count > 0 { _ = try await store.write { try $0.fileEvents(atMost: count) } }
            #expect(try await numbers(store, query) == all)
            var part = query
            (part.after, part.limit) = (SequenceNumber(207), 3)
            #expect(try await numbers(store, part) == [307, 407, 507])
            (part.types, part.owner) = ([.taskStarted], alice)
            #expect(try await numbers(store, part) == [307, 407, 507])
            part.owner = bob
            #expect(try await numbers(store, part) == [])
        }
        #expect(try await filed(store) == (1000, 1000))
        try await append(100, to: store)
        #expect(try await numbers(store, query) == all + [1007])
    }

    @Test func aQuestionAboutOneTaskFilesAllButTheLatestEvents() async throws {
        let store = try fixture.open()
        try await append(Int(TransferStore.unfiledEvents), to: store)
        var query = EventQuery(limit: 1)
        query.tasks = [TaskID(3)]
        #expect(try await numbers(store, query) == [3])
        #expect(try await filed(store) == (0, 0), "few enough to be looked through")
        try await append(5000, to: store)
        query.tasks = [TaskID(3), TaskID(4)]
        #expect(try await numbers(store, query) == [3])
        #expect(try await filed(store) == (0, 0), "nobody asked for one task")
        query.tasks = [TaskID(3)]
        #expect(try await numbers(store, query) == [3])
        let (upTo, rows) = try await filed(store)
        #expect(upTo >= 5000 && upTo <= 15_000 && rows == upTo)
    }

    /// Retention deleted events that were never filed.
    @Test func filingBeginsWithTheOldestEventThatIsKept() async throws {
        let store = try fixture.open()
        try await append(100, to: store)
        try await store.write { try $0.execute("DELETE FROM event WHERE sequence <= 60") }
        #expect(try await store.write { try $0.fileEvents(atMost: 30) } == 10)
        #expect(try await filed(store) == (90, 30))
        try await store.write { try $0.execute("DELETE FROM event") }
        #expect(try await store.write { try $0.fileEvents(atMost: 30) } == 0)
    }
}
