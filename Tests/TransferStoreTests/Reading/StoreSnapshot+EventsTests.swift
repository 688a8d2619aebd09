import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreSnapshotEventsTests {
    let fixture = Fixture()

    @Test func eventsAreFilteredAndLimited() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.append(event(.taskAdded, task: TaskID(1)))
            try transaction.append(event(.taskAdded, task: TaskID(2), owner: bob))
            try transaction.append(event(.taskFailed, task: TaskID(1), session: "apt"))
            try transaction.append(event(.sessionOpened, session: "apt"))
            try transaction.append(event(.taskAdded, task: TaskID(3)))
        }
        let find: @Sendable (EventQuery) async throws -> [Int64] = { query in
            try await store.read { try $0.events(query).compactMap { $0.sequence?.rawValue } }
        }
        var query = EventQuery()
        #expect(try await find(query) == [1, 2, 3, 4, 5])
        query = EventQuery(after: SequenceNumber(2), limit: 2)
        #expect(try await find(query) == [3, 4])
        query = EventQuery(owner: alice)
        #expect(try await find(query) == [1, 3, 4, 5])
        query.sessions = ["apt"]
        #expect(try await find(query) == [3, 4])
        query.types = [.taskFailed, .taskAdded]
        #expect(try await find(query) == [3])
        query.sessions = nil
        query.tasks = [TaskID(1), TaskID(2)]
        #expect(try await find(query) == [1, 3])
        query.types = []
        #expect(try await find(query) == [])
    }

    @Test func aPageEndsByBytesToo() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            for number in 1...5 {
                var record = event(.taskAdded, task: TaskID(Int64(number)))
                record.payload = ["url": .string(String(repeating: "u", count: 90))]
                try transaction.append(record)
            }
        }
        let page: @Sendable (Int64, Int, Int) async throws -> (numbers: [Int64], isCut: Bool) = { after, limit, bytes in
            var query = EventQuery(after: SequenceNumber(after), limit: limit)
            query.bytes = bytes
            let wanted = query
            let page = try await store.read { try $0.eventPage(wanted) }
            return (page.events.compactMap { $0.sequence?.rawValue }, page.isCut)
        }
        #expect(try await page(0, 10, 250) == ([1, 2], true))
        #expect(try await page(2, 10, 1) == ([3], true), "never empty")
        #expect(try await page(3, 10, 250) == ([4, 5], false))
        #expect(try await page(0, 2, 1000) == ([1, 2], true))
    }

    @Test func anEventComesBackAsItWasAppended() async throws {
        let store = try fixture.open()
        var sent = event(.taskCompleted, task: TaskID(7), owner: UserID(.max), session: "ä")
        sent.payload = ["file": "/x", "bytes": 5, "duration": 1.5, "list": [nil, true]]
        sent.sequence = SequenceNumber(99)
        let number = try await store.write { [sent] in try $0.append(sent) }
        #expect(number == SequenceNumber(1))
        sent.sequence = number
        let stored = try await store.read { try $0.events(EventQuery()) }
        #expect(stored == [sent])
    }

    @Test func progressIsNeverStored() async throws {
        let store = try fixture.open()
        let error = await transferError { try await store.write { _ = try $0.append(event(.taskProgress)) } }
        #expect(error?.code == .internal)
        let head = try await store.read { try $0.eventHead() }
        #expect(head == .zero)
    }

    @Test func theLogIsReadAlongItsPrimaryKey() async throws {
        let store = try fixture.open()
        var query = EventQuery(after: SequenceNumber(1), owner: alice)
        query.sessions = ["a"]
        query.tasks = [TaskID(1), TaskID(2)]
        query.types = [.taskCompleted]
        #expect(try await plan(query, store) == ["SEARCH event USING INTEGER PRIMARY KEY (rowid>?)"])
        // The few events of one task are found without scanning a million others, and still come in the order of the
        // log.
        query.tasks = [TaskID(1)]
        #expect(
            try await plan(query, store) == [
                "MERGE (UNION ALL)", "LEFT", "SEARCH event USING INDEX event_task (task=? AND rowid>?)", "RIGHT",
                "SEARCH event USING INTEGER PRIMARY KEY (rowid>?)",
            ])
    }

    private func plan(_ query: EventQuery, _ store: TransferStore) async throws -> [String] {
        let (sql, arguments) = StoreSnapshot.eventSQL(query, filed: SequenceNumber(7))
        return try store.database.read { database in
            try database.plan(sql, arguments)
        }
    }

    @Test func finalEventsNotAcknowledgedAreCounted() async throws {
        let store = try fixture.open()
        let key = SessionKey(owner: alice, identifier: "apt")
        try await store.write { transaction in
            for type in [EventType.taskCompleted, .taskAdded, .taskFailed, .taskCancelled, .taskPaused] {
                try transaction.append(event(type, session: "apt"))
                try transaction.append(event(type, owner: bob, session: "apt"))
                try transaction.append(event(type, session: "shared"))
            }
        }
        let count: @Sendable () async throws -> Int = {
            try await store.read { try $0.unacknowledgedFinalEvents(key, subscriber: "app") }
        }
        #expect(try await count() == 3)
        try await store.write { _ = try $0.acknowledge("app", owner: alice, SequenceNumber(1)) }
        #expect(try await count() == 2)
        try await store.write { _ = try $0.acknowledge("app", owner: alice, SequenceNumber(15)) }
        #expect(try await count() == 0)
    }
}
