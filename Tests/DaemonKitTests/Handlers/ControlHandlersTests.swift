import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct ControlHandlersTests {
    @Test func handsOnEachAction() async throws {
        let bench = try await Bench()
        let all = ControlSelection(all: true)
        _ = try await bench.call(Methods.pauseTasks, all)
        _ = try await bench.call(Methods.resumeTasks, all)
        _ = try await bench.call(Methods.retryTasks, RetryTasks(all))
        _ = try await bench.call(Methods.cancelTasks, .init(all, keepPartial: true))
        _ = try await bench.call(Methods.cancelTasks, .init(all))
        _ = try await bench.call(Methods.removeTasks, .init(all, deleteFile: true))
        let result = try await bench.call(Methods.removeTasks, .init(all))
        #expect(
            bench.supervision.controls.map(\.0) == [
                .pause, .resume, .retry, .cancel(keepPartial: true), .cancel(keepPartial: false),
                .remove(deleteFile: true), .remove(deleteFile: false),
            ])
        #expect(
            bench.supervision.controls.allSatisfy { $0.1 == ControlTarget(scope: .all, owner: .user(Bench.user.uid)) })
        #expect(result.changed == [TaskID(1)] && result.skipped == [.init(id: TaskID(2), code: .taskWrongState)])
    }

    @Test func wantsExactlyOneScope() async throws {
        let bench = try await Bench()
        let bad = [
            ControlSelection(), ControlSelection(all: false), ControlSelection(ids: [TaskID(1)], all: true),
            ControlSelection(range: TaskRange(TaskID(1)...TaskID(2)), all: true),
            ControlSelection(ids: [], session: "shared"), ControlSelection(session: "shared", all: true),
        ]
        for selection in bad { #expect(await bench.refusal(Methods.pauseTasks, selection)?.code == .badField) }
        #expect(bench.supervision.controls.isEmpty)
    }

    @Test func aRangeMeansOnesOwn() async throws {
        let bench = try await Bench()
        let range = TaskID(3)...TaskID(7)
        _ = try await bench.call(Methods.pauseTasks, ControlSelection(range: TaskRange(range)))
        #expect(
            bench.supervision.controls.map(\.1) == [ControlTarget(scope: .range(range), owner: .user(Bench.user.uid))])
        #expect(throws: TransferError.self) {
            try JSONCoding.decode(TaskRange.self, from: Array(#"{"first":7,"last":3}"#.utf8), lenient: true)
        }
    }

    @Test func namesSoManyTasksAndEachOnce() async throws {
        let bench = try await Bench()
        let (one, two) = (TaskID(1), TaskID(2))
        let many = ControlSelection(ids: Array(repeating: one, count: Bounds.ids + 1))
        let refusal = await bench.refusal(Methods.pauseTasks, many)
        #expect(refusal?.code == .tooLarge && refusal?.details["field"] == "ids")
        #expect(bench.supervision.controls.isEmpty)
        _ = try await bench.call(Methods.pauseTasks, ControlSelection(ids: [two, one, two] + [one]))
        #expect(bench.supervision.controls.map(\.1.scope) == [.ids([two, one])])
    }

    @Test func narrowsByStates() async throws {
        let bench = try await Bench()
        _ = try await bench.call(Methods.cancelTasks, .init(ControlSelection(all: true, states: [.waiting, .paused])))
        #expect(bench.supervision.controls.first?.1.states == [.waiting, .paused])
    }

    @Test func sessionsMustExist() async throws {
        let bench = try await Bench()
        let missing = await bench.refusal(Methods.pauseTasks, ControlSelection(session: "work"))
        #expect(missing?.code == .sessionNotFound)
        _ = try await bench.call(Methods.openSession, .init(id: "work"))
        _ = try await bench.call(Methods.pauseTasks, ControlSelection(session: "work"))
        #expect(bench.supervision.controls.map(\.1.scope) == [.session("work")])
        #expect(
            await bench.refusal(Methods.pauseTasks, ControlSelection(session: "work"), as: Bench.other)?.code
                == .sessionNotFound)
    }

    @Test func meansOnesOwnUnlessAnAdministratorSaysOtherwise() async throws {
        let bench = try await Bench()
        let ids = ControlSelection(ids: [TaskID(1)])
        _ = try await bench.call(Methods.pauseTasks, ids)
        _ = try await bench.call(Methods.pauseTasks, ids, as: Bench.root)
        _ = try await bench.call(Methods.pauseTasks, ControlSelection(all: true), as: Bench.root)
        _ = try await bench.call(Methods.pauseTasks, ControlSelection(all: true, owner: .everyone), as: Bench.root)
        #expect(
            bench.supervision.controls.map(\.1.owner) == [
                .user(Bench.user.uid), .everyone, .user(.root), .everyone,
            ])
        let refusal = await bench.refusal(Methods.pauseTasks, ControlSelection(all: true, owner: .everyone))
        #expect(refusal?.code == .permissionDenied)
    }
}
