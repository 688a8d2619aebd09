import Testing
import TransferModel

@testable import TransferStore

extension StoreSnapshot {
    /// Returns the tasks of one page.
    fileprivate func list(_ query: TaskQuery) throws -> [TaskRecord] {
        try page(query).tasks.map { try $0.whole() }
    }
}

@Suite struct StoreSnapshotListTests {
    let fixture = Fixture()

    /// 120 tasks of two owners in three sessions, in all states, with equal values in every sort key.
    private func filledStore() async throws -> TransferStore {
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.insertSession(
                SessionRecord(key: SessionKey(owner: alice, identifier: "apt"), createdAt: epoch))
            var generator = SeededGenerator(state: 3)
            for number in 0..<120 {
                let state = TaskState.allCases[Int.random(in: 0..<7, using: &generator)]
                let owner = number % 3 == 0 ? bob : alice
                var new = newTask(
                    state, owner: owner, session: owner == alice && number % 2 == 0 ? "apt" : "shared",
                    url: "https://example.org/\(number)", priority: Double(number % 3) / 4)
                if state.isFinal { new.status.finishedAt = after(Int64(number % 7)) }
                new.position = Double(number % 5)
                if number % 10 == 0 { new.spec.description = "Every 100% tenth_one" }
                if number % 20 == 0 { new.spec.kind = .data }
                try transaction.insert(new)
            }
        }
        return store
    }

    private func walk(_ store: TransferStore, _ query: TaskQuery) async throws -> [TaskRecord] {
        var query = query
        var records: [TaskRecord] = []
        while true {
            let page = try await store.read { [query] in try $0.page(query) }
            #expect(page.tasks.count <= query.limit)
            records += try page.tasks.map { try $0.whole() }
            guard let next = page.nextCursor else { return records }
            query.cursor = next
        }
    }

    @Test(arguments: TaskOrder.allCases)
    func aPageEndsByBytesToo(order: TaskOrder) async throws {
        let store = try await filledStore()
        var query = TaskQuery(owner: alice)
        query.order = order
        query.limit = 1000
        let all = try await walk(store, query)
        #expect(all.count == 80)
        query.bytes = 300
        let page = try await store.read { [query] in try $0.page(query) }
        #expect((1...20).contains(page.tasks.count) && page.nextCursor != nil)
        #expect(try await walk(store, query) == all)
        query.bytes = 0
        let least = try await store.read { [query] in try $0.page(query) }
        #expect(least.tasks.count == 1, "never empty")
        if order == .oldest || order == .newest {
            query.ids = all.map(\.id)
            #expect(try await walk(store, query) == all)
        }
    }

    private static func sorted(_ records: [TaskRecord], _ order: TaskOrder) -> [TaskRecord] {
        records.sorted { a, b in
            switch order {
            case .oldest: return a.id < b.id
            case .newest: return a.id > b.id
            case .queue:
                // Those that have ended have no turn.
                if a.status.state.isFinal, b.status.state.isFinal {
                    let (x, y) = (a.status.finishedAt?.rawValue ?? -1, b.status.finishedAt?.rawValue ?? -1)
                    return x == y ? a.id > b.id : x > y
                }
                if a.status.state.isFinal || b.status.state.isFinal { return b.status.state.isFinal }
                let (x, y) = (a.spec.priority?.value ?? 0.5, b.spec.priority?.value ?? 0.5)
                return x == y ? (a.position, a.id) < (b.position, b.id) : x > y
            case .finished:
                let (x, y) = (a.status.finishedAt?.rawValue ?? -1, b.status.finishedAt?.rawValue ?? -1)
                return x == y ? a.id > b.id : x > y
            case .activity:
                // Has its own comparison below.
                return false
            }
        }
    }

    private static func byActivity(_ records: [TaskRecord]) -> [TaskRecord] {
        func with(_ states: Set<TaskState>) -> [TaskRecord] { records.filter { states.contains($0.status.state) } }
        return sorted(with([.running]), .queue) + sorted(with([.waiting, .queued]), .queue)
            + sorted(with([.paused]), .queue) + sorted(with([.completed, .failed, .cancelled]), .finished)
    }

    @Test func aPageHasSpecsAsTheirText() async throws {
        let store = try await filledStore()
        let page = try await store.read { try $0.page(TaskQuery()) }
        for task in page.tasks {
            let whole = try await store.read { try $0.task(task.record.id) }
            let spec = try #require(whole?.spec)
            #expect(try task.whole() == whole && task.specText == JSONColumn.encode(spec))
            #expect(task.record.spec.kind == spec.kind && task.record.spec.url == nil && task.record.response == nil)
        }
    }

    @Test(arguments: TaskOrder.allCases)
    func pagesTogetherAreTheWholeListing(_ order: TaskOrder) async throws {
        let store = try await filledStore()
        var everything = TaskQuery()
        everything.limit = 1000
        let all = try await store.read { [everything] in try $0.list(everything) }
        #expect(all.count == 120)
        for states in [nil, [TaskState.queued], [.failed, .completed, .waiting]] as [Set<TaskState>?] {
            for (owner, session) in [(nil, nil), (alice, nil), (alice, "apt"), (nil, "shared")] as [(UserID?, String?)]
            {
                var query = TaskQuery(owner: owner, session: session, states: states)
                query.order = order
                query.limit = 7
                let whole = order == .activity ? Self.byActivity(all) : Self.sorted(all, order)
                let expected = whole.filter {
                    (owner == nil || owner == $0.session.owner) && (session == nil || session == $0.session.identifier)
                        && (states?.contains($0.status.state) ?? true)
                }
                #expect(try await walk(store, query).map(\.id) == expected.map(\.id))
            }
        }
    }

    @Test(arguments: TaskOrder.allCases)
    func aRangeOfIDsIsPartOfTheListing(_ order: TaskOrder) async throws {
        let store = try await filledStore()
        var everything = TaskQuery()
        everything.limit = 1000
        let all = try await store.read { [everything] in try $0.list(everything) }
        for (first, last) in [(1, 3), (17, 90), (100, 5000), (120, 120), (121, .max), (1, .max)] as [(Int64, Int64)] {
            for states in [nil, [.queued, .failed]] as [Set<TaskState>?] {
                var query = TaskQuery(owner: alice, states: states)
                query.order = order
                query.limit = 4
                query.range = TaskID(first)...TaskID(last)
                let whole = order == .activity ? Self.byActivity(all) : Self.sorted(all, order)
                let expected = whole.filter {
                    $0.session.owner == alice && (first...last).contains($0.id.rawValue)
                        && (states?.contains($0.status.state) ?? true)
                }
                #expect(try await walk(store, query).map(\.id) == expected.map(\.id), "\(first)-\(last)")
                let selector = TaskQuery(owner: alice, range: query.range, states: states)
                var found: [TaskID] = []
                while true {
                    let after = found.last
                    let more = try await store.read { try $0.select(selector, after: after, limit: 5) }
                    if more.isEmpty { break }
                    found += more
                }
                #expect(found == expected.map(\.id).sorted())
            }
        }
    }

    @Test func manySessionsAreMerged() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            for number in 0..<80 {
                let key = SessionKey(owner: alice, identifier: "s\(number)")
                try transaction.insertSession(SessionRecord(key: key, createdAt: epoch))
                try transaction.insert(newTask(session: key.identifier))
                try transaction.insert(newTask(.paused, session: key.identifier))
            }
        }
        var query = TaskQuery(owner: alice, states: [.queued])
        query.limit = 30
        query.order = .newest
        let found = try await walk(store, query).map(\.id.rawValue)
        #expect(found == Array(stride(from: Int64(159), through: 1, by: -2)))
    }

    @Test func filtersByKindAndText() async throws {
        let store = try await filledStore()
        var query = TaskQuery()
        query.limit = 1000
        query.kinds = [.data]
        let data = try await store.read { [query] in try $0.list(query) }
        #expect(data.count == 6)
        query.kinds = nil
        let matches: @Sendable (String) async throws -> Int = { text in
            var query = TaskQuery()
            query.limit = 1000
            query.match = text
            return try await store.read { [query] in try $0.list(query).count }
        }
        #expect(try await matches("100% TENTH_") == 12)
        #expect(try await matches("100%tenth") == 0)
        #expect(try await matches("tenth.one") == 0)
        #expect(try await matches("example.org/11") == 11)
        #expect(try await matches("") == 120)
        #expect(try await matches("\\") == 0)
    }

    /// A search must not tell others a password letter by letter.
    @Test(
        arguments: [
            ("http://anna:s3cret@h.example:80/p", ["s3", "anna", "@"], ["http://h.example:80/p"]),
            ("http://u:p@q@h.example", ["q", "u:"], ["http://h.ex"]),
            ("https://h/@scope/a?b=@", [], ["//h/@scope/a?b=@"]),
        ] as [(String, [String], [String])])
    func aSearchFindsNoUserInfo(url: String, hidden: [String], shown: [String]) async throws {
        let store = try fixture.open()
        try await store.write { _ = try $0.insert([newTask(url: url)]) }
        for (texts, count) in [(hidden, 0), (shown, 1)] {
            for text in texts {
                var query = TaskQuery()
                query.match = text
                let found = try await store.read { [query] in try $0.list(query).count }
                #expect(found == count, "\(text)")
            }
        }
    }

    /// A task that has delivered nothing is found by the name that it will get.
    @Test func aSearchFindsThePlannedFile() async throws {
        let store = try fixture.open()
        let destinations = [
            Destination(path: "/home/u/plan \"b\".iso"), Destination(directory: "/srv/plans", filename: "b.iso"),
            Destination(directory: "/srv/plans"), nil,
        ]
        try await store.write { transaction in
            _ = try transaction.insert(
                destinations.map { destination in
                    var task = newTask(url: "https://example.org/file")
                    task.spec.destination = destination
                    return task
                })
        }
        for (text, ids) in [("plan \"B\".iso", [1]), ("plans/b", [2]), ("/srv/plans", [2, 3]), (".iso", [1, 2])] {
            var query = TaskQuery()
            query.match = text
            let found = try await store.read { [query] in try $0.list(query).map(\.id.rawValue) }
            #expect(found == ids.map { Int64($0) }, "\(text)")
        }
    }

    @Test func aCursorOfAnotherOrderOrHandIsRefused() async throws {
        let store = try await filledStore()
        var query = TaskQuery()
        query.limit = 5
        let page = try await store.read { [query] in try $0.page(query) }
        let cursor = try #require(page.nextCursor)
        var last = cursor
        last.removeLast()
        for (text, order) in [
            (cursor, .newest), (last, .oldest), ("", .oldest), ("oldest.0.0.5.0.0", .oldest), ("x", .oldest),
        ] as [(String, TaskOrder)] {
            query.cursor = text
            query.order = order
            let error = await transferError {
                _ = try await store.read { [query] snapshot in try snapshot.page(query) }
            }
            #expect(error?.code == .badField)
            #expect(error?.details["field"] == "cursor")
        }
    }

    /// The counters give the total, and no task is read for it.
    @Test func pagesCountTheWholeListing() async throws {
        let store = try await filledStore()
        var query = TaskQuery()
        query.limit = 1
        let some: Set<TaskState> = [.failed, .queued]
        let filters: [(UserID?, Set<TaskState>?)] = [(nil, nil), (bob, nil), (alice, some)]
        for (owner, states) in filters {
            query.owner = owner
            query.states = states
            query.order = .activity
            let page = try await store.read { [query] in try $0.page(query) }
            var expected = 0
            for (state, count) in try await store.read({ try $0.counts(owner: owner) }) {
                if states?.contains(state) ?? true { expected += count }
            }
            #expect(page.total == expected && expected > 0)
        }
        query.match = "x"
        let searched = try await store.read { [query] in try $0.page(query) }
        query.match = nil
        query.kinds = [.data]
        let selected = try await store.read { [query] in try $0.page(query) }
        #expect(searched.total == nil && selected.total == nil)
    }

    @Test(arguments: KeyOrder.allCases, [TaskState.queued, .completed])
    func everyPieceIsOneRangeOfAnIndex(_ order: KeyOrder, _ state: TaskState) async throws {
        let store = try fixture.open()
        let cell = TaskListing.Cell(session: 1, state: state, kind: .download)
        for key in [nil, ListKey(id: TaskID(5), major: 0.5, minor: 5), ListKey(id: TaskID(5), major: -1)] {
            for range in TaskListing.ranges(order, of: cell, after: key) {
                let sql = TaskListing.sql(order, of: state, range.condition, matches: false)
                let values: [any Bindable] =
                    [cell.session, cell.state.rawValue, cell.kind.rawValue] + range.arguments + [7]
                let plan = try store.database.read { database in
                    try database.plan(sql, values).joined(separator: "\n")
                }
                #expect(plan.contains("USING COVERING INDEX task_by_"))
                // The plan uses a range instead of all rows of the cell, and does not sort.
                #expect(plan.contains(/kind=\? AND .*[<>]/), "\(plan)")
                #expect(!plan.contains("TEMP B-TREE"), "\(plan)")
            }
        }
    }

    /// Otherwise each start and end of a run would write to the index by rank.
    @Test func runningTasksAreSortedAsTheyAreListed() async throws {
        let store = try fixture.open()
        let running = TaskListing.Cell(session: 1, state: .running, kind: .download)
        let sql = TaskListing.sql(.queue, of: running.state, " AND priority < ?", matches: false)
        let (plan, started) = try store.database.read { database in
            (
                try database.plan(sql, [1, "running", "download", 2.0, 7]).joined(separator: "\n"),
                try database.plan(StoreSnapshot.runningSQL).joined(separator: "\n")
            )
        }
        #expect(plan.contains("USING INDEX task_by_id (session=? AND state=? AND kind=?)"), "\(plan)")
        #expect(started.contains("INDEX task_by_id (session=? AND state=? AND kind=?)"), "\(started)")
    }

    @Test func aSearchLooksAtSoManyTasksAPage() async throws {
        let store = try fixture.open()
        let total = StoreSnapshot.mostSearched + 500
        try await store.write { transaction in
            let new = (1...total).map { number in
                newTask(url: "https://example.org/" + (number == 5 || number == total ? "needle" : "hay"))
            }
            _ = try transaction.insert(new)
        }
        var query = TaskQuery()
        query.match = "needle"
        let first = try await store.read { [query] in try $0.page(query) }
        #expect(first.tasks.map(\.record.id) == [TaskID(5)])
        query.cursor = first.nextCursor
        #expect(query.cursor != nil)
        let second = try await store.read { [query] in try $0.page(query) }
        #expect(second.tasks.map(\.record.id) == [TaskID(Int64(total))])
        #expect(second.nextCursor == nil)
        query.match = "nowhere"
        query.cursor = nil
        let empty = try await store.read { [query] in try $0.page(query) }
        #expect(empty.tasks.isEmpty && empty.nextCursor != nil)
    }

    @Test func aForgedCursorIsHarmless() async throws {
        let store = try await filledStore()
        let name = store.identifier
        for (major, minor) in [(Double.nan, 0.0), (.infinity, .nan), (-.infinity, -0.0), (1e300, 1e300)] {
            for order in TaskOrder.allCases {
                var query = TaskQuery()
                query.order = order
                query.cursor = PageCursor(order: order, key: ListKey(id: TaskID(.max), major: major, minor: minor))
                    .text(store: name)
                _ = try await store.read { [query] in try $0.page(query) }
            }
        }
    }

    @Test func selectionsAreWalkedInBatches() async throws {
        let store = try await filledStore()
        let selector = TaskQuery(owner: alice, states: [.queued, .paused])
        var walked: [TaskID] = []
        while true {
            let batch = try await store.read { [walked] in try $0.select(selector, after: walked.last, limit: 4) }
            guard !batch.isEmpty else { break }
            walked += batch
        }
        var query = TaskQuery(owner: alice, states: [.queued, .paused])
        query.limit = 1000
        let expected = try await store.read { [query] in try $0.list(query).map(\.id) }
        #expect(walked == expected)
        #expect(walked.count > 10)
        let bobs = expected.first.map { [$0] } ?? []
        let named = try await store.read {
            try $0.select(TaskQuery(owner: bob, ids: bobs + [TaskID(1), TaskID(4), TaskID(999)]), limit: 10)
        }
        #expect(named == [TaskID(1), TaskID(4)])
    }
}
