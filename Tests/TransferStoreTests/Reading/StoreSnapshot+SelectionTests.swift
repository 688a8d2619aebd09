import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreSnapshotSelectionTests {
    let fixture = Fixture()

    private func add(
        _ store: TransferStore, _ tags: [String], token: String? = nil, owner: UserID = alice,
        _ state: TaskState = .queued
    ) async throws -> TaskID {
        var new = newTask(state, owner: owner)
        new.spec.tags = tags
        new.spec.clientToken = token
        return try await store.add(new)
    }

    private func list(_ store: TransferStore, _ change: (inout TaskQuery) -> Void) async throws -> [TaskID] {
        var query = TaskQuery(owner: alice)
        change(&query)
        var ids: [TaskID] = []
        while true {
            let page = try await store.read { [query] in try $0.page(query) }
            ids += page.tasks.map(\.record.id)
            guard let next = page.nextCursor else { return ids }
            query.cursor = next
        }
    }

    @Test func idsTagsAndTokensNameTasksAndEachNarrowsTheOthers() async throws {
        let store = try fixture.open()
        let a = try await add(store, ["red", "big"], token: "t1")
        let b = try await add(store, ["red"], token: "t2", .failed)
        let c = try await add(store, ["red", "big"], owner: bob)
        let d = try await add(store, [])
        #expect(try await list(store) { $0.ids = [d, b, TaskID(99), c] } == [b, d])
        #expect(try await list(store) { $0.tags = ["red"] } == [a, b])
        #expect(try await list(store) { $0.tags = ["big", "red"] } == [a])
        #expect(try await list(store) { $0.clientTokens = ["t2", "t1", "none"] } == [a, b])
        #expect(try await list(store) { ($0.tags, $0.states) = (["red"], [.failed]) } == [b])
        #expect(try await list(store) { ($0.ids, $0.tags) = ([a, d], ["red"]) } == [a])
        #expect(try await list(store) { ($0.clientTokens, $0.tags) = (["t1", "t2"], ["big"]) } == [a])
        #expect(try await list(store) { ($0.owner, $0.tags) = (nil, ["red"]) } == [a, b, c])
        #expect(try await list(store) { ($0.owner, $0.ids) = (nil, [c, a]) } == [a, c])
        #expect(try await list(store) { ($0.tags, $0.session) = (["red"], "other") } == [])
        #expect(try await list(store) { ($0.tags, $0.kinds) = (["red"], [.upload]) } == [])
        #expect(try await list(store) { ($0.tags, $0.match) = (["red"], "EXAMPLE.org/f") } == [a, b])
        #expect(try await list(store) { ($0.tags, $0.match) = (["red"], "elsewhere") } == [])
        #expect(try await list(store) { $0.ids = [] } == [])
        try await store.write { _ = try $0.delete(b) }
        #expect(try await list(store) { $0.tags = ["red"] } == [a])
        #expect(try await list(store) { $0.clientTokens = ["t2"] } == [])
    }

    @Test(arguments: [TaskOrder.oldest, .newest])
    func pagesGoOnWhereTheLastOneEnded(_ order: TaskOrder) async throws {
        let store = try fixture.open()
        let new = (0..<50).map { index in
            var new = newTask(index % 7 == 0 ? .paused : .queued, owner: index % 5 == 0 ? bob : alice)
            new.spec.tags = index % 2 == 0 ? ["even"] : ["odd"]
            new.spec.clientToken = "t\(index % 3)"
            return new
        }
        let ids = try await store.write { try $0.insert(new) }
        let wanted = ids.filter { $0.rawValue % 2 == 1 }
        let all = order == .oldest ? wanted : wanted.reversed()
        for limit in [1, 7, 100] {
            let walked = try await list(store) {
                ($0.owner, $0.tags, $0.order, $0.limit) = (nil, ["even"], order, limit)
            }
            #expect(walked == all)
        }
        let tokens = try await list(store) {
            ($0.owner, $0.clientTokens, $0.order, $0.limit) = (nil, ["t0", "t2"], order, 3)
        }
        let expected = ids.filter { ($0.rawValue - 1) % 3 != 1 }
        #expect(tokens == (order == .oldest ? expected : expected.reversed()))
    }

    /// A page looks at only so many tasks with a tag, even if none of them matches.
    @Test func aPageEndsAfterSoManyThatDoNotMatch() async throws {
        let store = try fixture.open()
        let new = (0..<StoreSnapshot.mostSelected + 10).map { index in
            var new = newTask(index == StoreSnapshot.mostSelected + 5 ? .paused : .queued)
            new.spec.tags = ["many"]
            return new
        }
        let ids = try await store.write { try $0.insert(new) }
        var query = TaskQuery(owner: alice, states: [.paused])
        query.tags = ["many"]
        let page = try await store.read { [query] in try $0.page(query) }
        #expect(page.tasks.isEmpty && page.nextCursor != nil)
        #expect(
            try await list(store) { ($0.tags, $0.states) = (["many"], [.paused]) }
                == [ids[StoreSnapshot.mostSelected + 5]])
    }

    /// The query does not scan the table.
    @Test func anIndexFindsTags() async throws {
        let store = try fixture.open()
        for (table, column) in [("task_tag", "tag"), ("client_token", "token")] {
            for isRising in [true, false] {
                let plan = try store.database.read { database in
                    try database.plan(StoreSnapshot.labelledSQL(table, column, isRising: isRising), [1, "x", 0, 1])
                }
                #expect(plan.count == 1 && plan[0].contains("SEARCH \(table) USING"), "\(plan)")
            }
        }
    }
}
