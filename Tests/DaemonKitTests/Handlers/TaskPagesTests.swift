import TestSupport
import Testing
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct TaskPagesTests {
    private let mine = FakeSink(id: 7)

    private func ids(
        _ bench: Bench, _ order: ListOrder, limit: Int, _ ids: [TaskID]? = nil
    ) async throws -> (ids: [TaskID], total: Int?) {
        var found: [TaskID] = []
        var cursor: String?
        var total: Int?
        repeat {
            let page = try await bench.call(
                Methods.listTasks, .init(ids: ids, order: order, cursor: cursor, limit: limit), on: mine)
            #expect(page.tasks.count <= limit && !page.tasks.isEmpty)
            found += page.tasks.map(\.id)
            total = page.total
            cursor = page.nextCursor
        } while cursor != nil
        return (found, total)
    }

    /// Opens a volatile session, and adds tasks to it.
    private func add(
        _ count: Int, to session: String, of bench: Bench, on sink: FakeSink
    ) async throws -> [TaskID] {
        _ = try await bench.call(Methods.openSession, .init(id: session, kind: .default), on: sink)
        var spec = TaskSpec()
        spec.url = "https://example.org/file"
        let tasks = Array(repeating: spec, count: count)
        return try await bench.call(Methods.addTasks, .init(session: session, tasks: tasks), on: sink).tasks.map(\.id)
    }

    /// Each task comes once, whatever the length of the pages, and no page is empty.
    @Test(arguments: [ListOrder.oldest, .newest, .queue, .activity])
    func pagesGoThroughBothStores(order: ListOrder) async throws {
        let bench = try await Bench()
        let durable = try await bench.add(4)
        let own = try await add(3, to: "v", of: bench, on: mine)
        #expect(own.allSatisfy { $0.isVolatile })
        // Another connection's are not listed.
        let others = FakeSink(id: 8)
        _ = try await add(1, to: "w", of: bench, on: others)
        let all = durable + own
        let wanted = order == .newest ? all.reversed() : all
        for limit in 1...8 {
            let (found, total) = try await ids(bench, order, limit: limit)
            #expect(found == wanted && total == 7, "\(limit)")
            guard order == .oldest || order == .newest else { continue }
            let named = try await ids(bench, order, limit: limit, all)
            #expect(named.ids == wanted && named.total == nil)
        }
        #expect(try await bench.call(Methods.listTasks, .init(order: order), on: others).tasks.count == 5)
        #expect(try await bench.call(Methods.listTasks, .init(order: order)).tasks.count == 4)
    }

    @Test(arguments: [ListOrder.oldest, .newest, .queue, .activity])
    func anOffsetReachesIntoTheOtherStore(order: ListOrder) async throws {
        let bench = try await Bench()
        let durable = try await bench.add(4)
        let own = try await add(3, to: "v", of: bench, on: mine)
        let all = order == .newest ? (durable + own).reversed() : durable + own
        for offset in 0...9 {
            for match in [nil, "example"] {
                let page = try await bench.call(
                    Methods.listTasks, .init(match: match, order: order, offset: offset, limit: 2, total: true),
                    on: mine)
                #expect(page.tasks.map(\.id) == Array(all.dropFirst(offset).prefix(2)), "\(offset)")
                #expect(page.total == 7 && (page.nextCursor == nil) == (offset >= 5))
            }
        }
        let inSession = try await bench.call(Methods.listTasks, .init(session: "v", offset: 2), on: mine)
        #expect(inSession.tasks.map(\.id) == [own[2]])
    }

    @Test func anOffsetIsNotNegativeAndNotBesideACursor() async throws {
        let bench = try await Bench()
        _ = try await bench.add(3)
        let cursor = try await bench.call(Methods.listTasks, .init(limit: 1)).nextCursor
        for parameters in [
            ListTasks(cursor: cursor, offset: 0), ListTasks(cursor: "", offset: 1), ListTasks(offset: -1),
        ] {
            let refusal = await bench.refusal(Methods.listTasks, parameters)
            #expect(refusal?.code == .badField && refusal?.details["field"] == "offset")
        }
    }

    @Test func aBadCursorIsRefused() async throws {
        let bench = try await Bench()
        _ = try await bench.add(2)
        for cursor in ["x", "v.x", "d.x", ""] {
            let refusal = await bench.refusal(Methods.listTasks, .init(cursor: cursor), on: mine)
            #expect(refusal?.details["field"] == "cursor", "\(cursor)")
        }
    }
}
