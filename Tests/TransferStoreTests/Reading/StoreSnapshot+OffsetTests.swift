import Testing
import TransferModel

@testable import TransferStore

/// Pages that begin at a place of the listing, and listings that are counted.
@Suite struct StoreSnapshotOffsetTests {
    private static let count = 700
    let fixture = Fixture()

    /// Tasks of two owners in three sessions, in all states and kinds, with equal values in every sort key.
    private func filledStore() async throws -> TransferStore {
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.insertSession(
                SessionRecord(key: SessionKey(owner: alice, identifier: "apt"), createdAt: epoch))
            var generator = SeededGenerator(state: 11)
            for number in 0..<Self.count {
                // Most tasks are in two sections, as they are in life.
                let random = TaskState.allCases.randomElement(using: &generator) ?? .queued
                let state = number % 3 == 0 ? random : .completed
                let owner = number % 10 == 0 ? bob : alice
                var new = newTask(
                    state, owner: owner, session: owner == alice && number % 4 == 0 ? "apt" : "shared",
                    url: "https://example.org/\(number)", priority: Double(number % 3) / 4)
                if state.isFinal { new.status.finishedAt = after(Int64(number % 50)) }
                new.position = Double(number % 5)
                if number % 7 == 0 { new.spec.kind = .data }
                if number % 2 == 0 { new.spec.tags = ["even"] }
                try transaction.insert(new)
            }
        }
        return store
    }

    private static let filters: [@Sendable (inout TaskQuery) -> Void] = [
        { _ in }, { $0.owner = alice }, { ($0.owner, $0.session) = (alice, "apt") },
        { $0.states = [.completed, .queued] }, { $0.kinds = [.data] }, { $0.match = "/1" },
        { $0.range = TaskID(40)...TaskID(600) }, { ($0.range, $0.kinds) = (TaskID(1)...TaskID(.max), [.download]) },
        { ($0.range, $0.match) = (TaskID(100)...TaskID(400), "5") }, { $0.session = "none" },
    ]
    private static let namings: [@Sendable (inout TaskQuery) -> Void] = [
        { $0.tags = ["even"] }, { $0.ids = (1...90).map { TaskID($0 * 5) } },
        { ($0.tags, $0.match) = (["even"], "/2") },
    ]

    private func ids(_ store: TransferStore, _ query: TaskQuery) async throws -> [TaskID] {
        var (query, ids) = (query, [TaskID]())
        while true {
            let page = try await store.read { [query] in try $0.page(query) }
            #expect(page.tasks.count <= query.limit)
            ids += page.tasks.map(\.record.id)
            guard let next = page.nextCursor else { return ids }
            (query.cursor, query.offset) = (next, 0)
        }
    }

    @Test(arguments: TaskOrder.allCases)
    func anOffsetIsAPlaceOfTheListing(_ order: TaskOrder) async throws {
        let store = try await filledStore()
        let isByID = order == .oldest || order == .newest
        for change in Self.filters + (isByID ? Self.namings : []) {
            var query = TaskQuery()
            change(&query)
            (query.order, query.limit) = (order, 1000)
            let all = try await ids(store, query)
            for offset in [0, 1, 2, 3, 17, 64, 65, 300, 499, all.count - 1, all.count, all.count + 1, .max]
            where offset >= 0 {
                query.offset = offset
                query.limit = 13
                let page = try await store.read { [query] in try $0.page(query) }
                let wanted = all.dropFirst(offset)
                let (found, isLast) = (page.tasks.map(\.record.id), page.nextCursor == nil)
                #expect(found == Array(wanted.prefix(13)), "\(offset) of \(all.count)")
                #expect(isLast == (wanted.count <= 13))
                let beyond = max(0, offset - all.count)
                #expect(page.unskipped == beyond)
                query.limit = 200
                #expect(try await ids(store, query) == Array(wanted))
            }
        }
    }

    /// The bound of a search holds: the cursor knows what is left to skip.
    @Test func aSearchGoesOnSkippingOnTheNextPage() async throws {
        let store = try fixture.open()
        let total = StoreSnapshot.mostSearched + 500
        let needles = [5, 9, total - 7, total - 3]
        try await store.write { transaction in
            let new = (1...total).map { number in
                newTask(url: "https://example.org/" + (needles.contains(number) ? "needle" : "hay"))
            }
            _ = try transaction.insert(new)
        }
        var query = TaskQuery()
        (query.match, query.offset) = ("needle", 3)
        let first = try await store.read { [query] in try $0.page(query) }
        #expect(first.tasks.isEmpty && first.nextCursor != nil)
        let last = [TaskID(Int64(total - 3))]
        #expect(try await ids(store, query) == last)
        query.ids = (1...total).map { TaskID(Int64($0)) }
        #expect(try await ids(store, query) == last)
    }

    @Test(arguments: filters + namings)
    func everyListingIsCountedIfAsked(_ change: @Sendable (inout TaskQuery) -> Void) async throws {
        let store = try await filledStore()
        var query = TaskQuery()
        change(&query)
        query.limit = 1000
        let all = try await ids(store, query)
        query.countsAll = true
        for (limit, offset) in [(1000, 0), (3, 2), (0, 0)] {
            (query.limit, query.offset) = (limit, offset)
            let page = try await store.read { [query] in try $0.page(query) }
            #expect(page.total == all.count)
        }
    }

    @Test func tasksAreCountedByStateAndKindAndReason() async throws {
        let store = try await filledStore()
        for (owner, sessions) in [(nil, nil), (alice, nil), (alice, ["apt"]), (bob, ["apt"])] as [(UserID?, [String]?)]
        {
            var query = TaskQuery(owner: owner)
            (query.sessions, query.limit) = (sessions, 1000)
            let tasks = try await store.read { [query] in try $0.page(query).tasks.map { try $0.whole() } }
            let (census, waiting) = try await store.read {
                (try $0.census(owner: owner, sessions: sessions), try $0.waiting(owner: owner, sessions: sessions))
            }
            for kind in TaskKind.allCases {
                for state in TaskState.allCases {
                    let wanted = tasks.count { $0.spec.kind == kind && $0.status.state == state }
                    let counted = census[kind]?[state] ?? 0
                    #expect(counted == wanted, "\(kind) \(state)")
                }
            }
            for reason in WaitReason.allCases {
                let wanted = tasks.count { $0.status.reason == reason }
                let counted = waiting[reason] ?? 0
                #expect(counted == wanted, "\(reason)")
            }
        }
    }
}
