import Testing
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit

@Suite struct TaskTransitionsControlTests {
    private let fixture: SupervisionFixture

    init() throws { fixture = try SupervisionFixture() }
    private init(fixture: SupervisionFixture) { self.fixture = fixture }

    private func control(
        _ action: TaskAction, _ ids: [TaskID], states: Set<TaskState>? = nil, owner: OwnerScope = .everyone
    ) async throws -> [String] {
        let transitions = fixture.transitions
        let target = ControlTarget(scope: .ids(ids), states: states, owner: owner)
        return try await fixture.store.write { try transitions.control(action, ids, target, in: $0) }.map { result in
            switch result {
            case .changed(let head): "\(head.id) \(head.status.state.rawValue)"
            case .skipped(let id, let code): "\(id) \(code.rawValue)"
            }
        }
    }

    @Test func everyIdHasItsAnswer() async throws {
        let tasks = try await fixture.add(hosts: ["a", "b", "c"])
        let ids = tasks.map(\.id)
        _ = try await fixture.apply(.pause, to: ids[1])
        #expect(
            try await control(.pause, [ids[2], TaskID(99), ids[1], ids[0], ids[0]])
                == ["3 paused", "99 task.not_found", "2 task.wrong_state", "1 paused", "1 task.wrong_state"])
        #expect(try await control(.resume, [ids[0]], owner: .user(UserID(7))) == ["1 task.not_found"])
        #expect(
            try await control(.cancel(keepPartial: false), ids, states: [.queued]).allSatisfy {
                $0.hasSuffix("wrong_state")
            })
        #expect(try await control(.remove(deleteFile: false), [ids[0]]) == ["1 task.wrong_state"])
        #expect(try await control(.cancel(keepPartial: false), [ids[0]]) == ["1 cancelled"])
        #expect(
            try await control(.remove(deleteFile: false), [ids[0], ids[0]]) == ["1 cancelled", "1 task.not_found"])
    }

    /// Single changes and batches have the same result.
    @Test(arguments: [TaskEvent.pause, .cancel(keepPartial: false), .cancel(keepPartial: true)])
    func manyChangeAsEachWould(_ event: TaskEvent) async throws {
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForResource = 100
        let tasks = try await fixture.add(hosts: ["a", "b"], configuration: configuration)
        let action: TaskAction =
            switch event {
            case .cancel(let keepPartial): .cancel(keepPartial: keepPartial)
            default: .pause
            }
        fixture.time.advance(5)
        _ = try await fixture.apply(event, to: tasks[0].id)
        _ = try await control(action, [tasks[1].id])
        let records = try await fixture.store.read { try $0.tasks(tasks.map(\.id)) }
        #expect(records[0].status == records[1].status)
        let events = try await fixture.events().filter { $0.type != .sessionDrained }
        #expect(events.count == 2)
        #expect(events[0].type == events[1].type)
        #expect(events[0].payload == events[1].payload)
    }

    @Test func resumedTasksHaveTheRestOfTheirTime() async throws {
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForResource = 100
        let id = try await fixture.add(hosts: ["a"], configuration: configuration)[0].id
        fixture.time.advance(30)
        _ = try await control(.pause, [id])
        fixture.time.advance(1000)
        _ = try await control(.resume, [id])
        let due = fixture.time.reading().wall.advanced(by: 70)
        let next = try await fixture.store.read { try $0.nextTimes(after: Timestamp(milliseconds: 0)).resourceTimeout }
        #expect(next == due)
    }

    /// Their part files were handled when they had another state.
    @Test func whatAnotherRequestEndedMeanwhileIsLeftAlone() async throws {
        let ids = try await fixture.add(hosts: ["a", "b"]).map(\.id)
        _ = try await control(.cancel(keepPartial: true), [ids[0]])
        let transitions = fixture.transitions
        let target = ControlTarget(scope: .ids(ids), states: nil, owner: .everyone)
        func skipped(_ action: TaskAction, wasFinal: [TaskID: Bool]) async throws -> [TaskID] {
            try await fixture.store.write { transaction in
                try transitions.control(action, ids, target, wasFinal: wasFinal, in: transaction)
            }.compactMap { if case .skipped(let id, .taskWrongState) = $0 { id } else { nil } }
        }
        #expect(try await skipped(.remove(deleteFile: false), wasFinal: [ids[0]: false, ids[1]: false]) == ids)
        #expect(try await skipped(.cancel(keepPartial: false), wasFinal: [ids[0]: true, ids[1]: true]) == ids)
        #expect(try await skipped(.remove(deleteFile: false), wasFinal: [ids[0]: true]) == [ids[1]])
    }

    /// In a finishing session, tasks may be retried. An ended session stays so until it is opened again.
    @Test(arguments: [SessionState.active, .finishing, .invalidated])
    func nothingBeginsInASessionThatIsOver(_ state: SessionState) async throws {
        let ids = try await fixture.add(hosts: ["a", "b"]).map(\.id)
        _ = try await control(.cancel(keepPartial: false), [ids[0]])
        try await fixture.store.write { [key = fixture.key] transaction in
            var session = try #require(try transaction.session(key))
            session.state = state
            try transaction.updateSession(session)
        }
        let expected = state == .invalidated ? "1 session.invalidated" : "1 queued"
        #expect(try await control(.retry, ids) == [expected, "2 task.wrong_state"])
        let record = try await fixture.store.read { try $0.task(ids[0]) }
        #expect(record?.status.state == (state == .invalidated ? .cancelled : .queued))
        #expect(try await control(.remove(deleteFile: false), [ids[0]]).count == 1)
    }

    /// Ended tasks need room again, also within one call. Waiting or paused tasks already have it.
    @Test func noMoreTasksAreTakenUpAgainThanTheirOwnerMayHave() async throws {
        let limited = TaskTransitionsControlTests(fixture: try SupervisionFixture(queueLimit: 3))
        let ids = try await limited.fixture.add(hosts: ["a", "b", "c", "d"]).map(\.id)
        _ = try await limited.control(.cancel(keepPartial: true), Array(ids[..<3]))
        _ = try await limited.control(.pause, [ids[3]])
        #expect(
            try await limited.control(.retry, ids)
                == ["1 queued", "2 queued", "3 limit.reached", "4 task.wrong_state"])
        #expect(try await limited.control(.resume, [ids[3]]) == ["4 queued"])
        _ = try await limited.control(.cancel(keepPartial: true), [ids[0]])
        #expect(try await limited.control(.retry, [ids[2]]) == ["3 queued"])
    }

    @Test func anUploadThatWasBegunIsEndedAtItsServer() async throws {
        let tasks = try await fixture.add(hosts: ["a", "b"])
        try await fixture.store.write { transaction in
            try transaction.setUpload(
                tasks[1].id,
                UploadProgress(
                    uploadProtocol: .tus, resourceURL: "https://example.org/u", source: nil,
                    createdAt: tasks[1].status.createdAt))
        }
        _ = try await control(.cancel(keepPartial: false), tasks.map(\.id))
        let endings = try await fixture.store.read { try $0.uploadEndings(limit: 10) }
        #expect(endings.map(\.task) == [tasks[1].id])
        #expect(endings.first?.spec.url == "https://b/f")
    }

    @Test func aRemovedTaskIsGoneAndItsEventStays() async throws {
        let tasks = try await fixture.add(hosts: ["a", "b"])
        _ = try await control(.cancel(keepPartial: false), tasks.map(\.id))
        _ = try await control(.remove(deleteFile: false), [tasks[0].id])
        let key = fixture.key
        let (left, counts) = try await fixture.store.read {
            (try $0.tasks(tasks.map(\.id)), try $0.counts(session: key))
        }
        #expect(left.map(\.id) == [tasks[1].id])
        #expect(counts[.cancelled] == 1)
        #expect(try await fixture.events().last?.type == .taskRemoved)
    }
}
