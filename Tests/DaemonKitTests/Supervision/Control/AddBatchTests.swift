import Testing
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit
@testable import FileKit

struct AddBatchTests {
    private let fixture: SupervisionFixture

    init() throws { fixture = try SupervisionFixture() }
    private init(fixture: SupervisionFixture) { self.fixture = fixture }

    private func task(_ url: String, token: String? = nil, paused: Bool = false) -> AdmittedTask {
        var spec = TaskSpec()
        spec.url = url
        spec.clientToken = token
        spec.startPaused = paused
        return AdmittedTask(spec: spec, host: "https://example.org:443")
    }

    private func add(
        _ tasks: [AdmittedTask], owner: UserID? = nil, answering: Bool = true,
        check: @escaping @Sendable () throws -> Void = {}
    ) async throws -> [AddedTask] {
        let key = SessionKey(owner: owner ?? fixture.key.owner, identifier: fixture.key.identifier)
        let (now, transitions) = (fixture.time.reading(), fixture.transitions)
        return try await fixture.store.write { transaction in
            if try transaction.session(key) == nil {
                try transaction.insertSession(SessionRecord(key: key, createdAt: now.wall))
            }
            var tasks = tasks
            for index in tasks.indices { tasks[index].index = index }
            return try AddBatch(
                tasks, key: key, tokens: ClientTokens(tasks.map(\.spec), of: key, now: now.wall),
                configuration: SessionConfiguration(), now: now, transitions: transitions,
                answering: answering
            ).store(in: transaction, check)
        }
    }

    @Test func answersStandInTheOrderOfTheCall() async throws {
        let urls = (0..<70).map { "https://example.org/\($0)" }
        let added = try await add(urls.enumerated().map { task($1, paused: $0 % 2 == 1) })
        #expect(added.map(\.state) == urls.indices.map { $0 % 2 == 1 ? .paused : .queued })
        let stored = try await fixture.store.read { try $0.tasks(added.map(\.id)) }
        #expect(stored.map(\.spec.url) == urls)
        #expect(stored.allSatisfy { ($0.status.budgetMark == nil) == ($0.status.state == .paused) })
        #expect(try await fixture.events().filter { $0.type == .taskAdded }.map(\.task) == added.map(\.id))
    }

    /// The part file of an ended task, named by resume data that was used twice.
    @Test(arguments: [false, true]) func aPartIsHandedOverOnce(isOneCall: Bool) async throws {
        let holder = try await add([task("https://example.org/a")])[0].id
        _ = try await fixture.apply(.cancel(keepPartial: true), to: holder)
        let part = Checkpoint(
            offset: 4, partPath: "/d/" + PartName.make(task: holder, store: fixture.store.identifier), device: 1,
            inode: 2)
        try await fixture.store.write { try $0.setCheckpoint(holder, part) }
        var heir = task("https://example.org/a")
        heir.checkpoint = part
        let added = isOneCall ? try await add([heir, heir]) : try await add([heir]) + add([heir])
        let held = try await fixture.store.read { try $0.tasks([holder] + added.map(\.id)) }.map(\.checkpoint?.inode)
        #expect(held == [nil, 2, nil])
    }

    @Test func aTokenMeansOneTaskWithinACallAndBeyond() async throws {
        let first = try await add([
            task("https://example.org/a", token: "t"), task("https://example.org/a", token: "t"),
        ])
        #expect(first[0].id == first[1].id)
        #expect(first.map(\.isExisting) == [false, true])
        let second = try await add([
            task("https://example.org/c"), task("https://example.org/a", token: "t"),
            task("https://example.org/d", token: "u"),
        ])
        #expect(second[1].id == first[0].id)
        #expect(second.map(\.isExisting) == [false, true, false])
        #expect(Set(second.map(\.id)).count == 3)
        #expect(try await fixture.store.read { try $0.counts()[.queued] } == 3)
        let last = try await fixture.store.read { try $0.task(second[2].id) }
        #expect(last?.spec.clientToken == "u" && last?.spec.url == "https://example.org/d")
    }

    /// Then nothing of the call is stored. The token's owner and age count.
    @Test func aTokenForSomethingElseIsRefused() async throws {
        let known = try await add([task("https://example.org/a", token: "t")])
        let calls = [
            [task("https://example.org/c"), task("https://example.org/b", token: "t")],
            [task("https://example.org/c", token: "u"), task("https://example.org/d", token: "u")],
        ]
        for call in calls {
            let error = await #expect(throws: TransferError.self) { try await add(call) }
            #expect(error?.code == .tokenReused)
            #expect(error?.details["field"] == "tasks[1].clientToken")
        }
        #expect(try await fixture.store.read { try $0.counts()[.queued] } == 1)
        _ = try await add([task("https://example.org/b", token: "t")], owner: UserID(1001))
        fixture.time.advance(86401)
        let later = try await add([task("https://example.org/b", token: "t")])
        #expect(later[0].id != known[0].id && !later[0].isExisting)
    }

    /// Later changes by the daemon or by `task.update` do not change what was requested.
    @Test func aRemovedOrChangedTaskIsStillMeant() async throws {
        let asked = [task("https://example.org/a", token: "t")]
        let id = try await add(asked)[0].id
        let transitions = fixture.transitions
        try await fixture.store.write { transaction in
            var spec = try #require(try transaction.task(id)).spec
            spec.url = "https://example.org/elsewhere"
            try transaction.setSpec(id, spec, host: "https://example.org:443")
        }
        #expect(try await add(asked)[0] == AddedTask(id: id, state: .queued, existing: true))
        _ = try await fixture.apply(.cancel(keepPartial: false), to: id)
        let target = ControlTarget(scope: .ids([id]), owner: .everyone)
        _ = try await fixture.store.write { try transitions.control(.remove(deleteFile: false), [id], target, in: $0) }
        #expect(
            try await add(asked)[0] == AddedTask(id: id, state: .cancelled, existing: true, removed: true))
        await #expect(throws: TransferError.self) { try await add([task("https://example.org/b", token: "t")]) }
    }

    /// A task that a token has added before is left out together with its events.
    @Test func eventsStayWithTheirTasksWhereSomeAreLeftOut() async throws {
        let known = try await add([task("https://example.org/a", token: "t")])
        let added = try await add([
            task("https://example.org/a", token: "t"), task("https://example.org/c", paused: true),
            task("https://example.org/d"),
        ])
        #expect(added.map(\.state) == [.queued, .paused, .queued])
        #expect(added[0].id == known[0].id && added[0].isExisting)
        let events = try await fixture.events().filter { $0.task != known[0].id && $0.task != nil }
        #expect(events.map(\.type) == [.taskAdded, .taskPaused, .taskAdded])
        #expect(events.map(\.task) == [added[1].id, added[1].id, added[2].id])
        #expect(
            events.map(\.payload) == [
                ["state": "paused", "url": "https://example.org/c"], [:],
                ["state": "queued", "url": "https://example.org/d"],
            ])
    }

    @Test func everyTaskHasItsEventsInOrder() async throws {
        let added = try await add([
            task("https://example.org/a"), task("https://example.org/b", paused: true), task("https://example.org/c"),
        ])
        let events = try await fixture.events().filter { $0.task != nil }
        #expect(events.map(\.type) == [.taskAdded, .taskAdded, .taskPaused, .taskAdded])
        #expect(events.map(\.task) == [added[0].id, added[1].id, added[1].id, added[2].id])
        let numbers = events.compactMap { $0.sequence?.rawValue }
        #expect(numbers == Array(numbers[0]..<numbers[0] + 4))
    }

    @Test func aRepeatedCallAddsNothing() async throws {
        let tasks = (0..<100).map { task("https://example.org/\($0)", token: "token \($0)") }
        let first = try await add(tasks)
        let again = try await add(tasks)
        #expect(again.map(\.id) == first.map(\.id) && again.allSatisfy(\.isExisting))
        #expect(try await fixture.events().filter { $0.type == .taskAdded }.count == 100)
    }

    /// Paused tasks count, tasks of other users do not, and a call is accepted completely or not at all.
    @Test func anOwnerHasNoMoreUnfinishedTasksThanTheLimit() async throws {
        let limited = AddBatchTests(fixture: try SupervisionFixture(queueLimit: 3))
        let first = try await limited.add([
            task("https://example.org/a", token: "t"), task("https://example.org/b", paused: true),
        ])
        let error = await #expect(throws: TransferError.self) {
            try await limited.add([task("https://example.org/c"), task("https://example.org/d")])
        }
        #expect(error?.code == .limitReached && error?.retryable == true)
        #expect(error?.message.hasPrefix("maximumQueuedTasksPerUser: 2 tasks have not ended, and 2 more") == true)
        #expect(try await limited.fixture.store.read { try $0.counts()[.queued] } == 1)
        _ = try await limited.add([task("https://example.org/c")])
        // A task that a token has added before takes no room.
        #expect(try await limited.add([task("https://example.org/a", token: "t")]).map(\.id) == [first[0].id])
        await #expect(throws: TransferError.self) { try await limited.add([task("https://example.org/e")]) }
        _ = try await limited.add([task("https://example.org/e")], owner: UserID(1001))
        _ = try await limited.fixture.apply(.cancel(keepPartial: false), to: first[0].id)
        _ = try await limited.add([task("https://example.org/e")])
    }

    // MARK: Tasks that are answered already

    private func answered(_ url: String = "https://example.org/a", paused: Bool = false, size: Int = 3) -> AdmittedTask
    {
        var task = task(url, paused: paused)
        task.spec.kind = .data
        task.end = NewTask.End(
            result: TaskResult(bytes: ByteCount(Int64(size)), verified: false),
            metrics: StoredMetrics(TaskMetrics([.fromCache(at: fixture.time.reading().wall)])),
            response: StoredDocument(ResponseInfo(url: url, status: 200)), body: [UInt8](repeating: 7, count: size))
        return task
    }

    @Test func anAnsweredTaskIsStoredAsIfItHadRun() async throws {
        let added = try await add([answered()])
        #expect(added.map(\.state) == [.completed])
        let (record, body, metrics) = try await fixture.store.read { snapshot in
            let id = added[0].id
            return (try snapshot.task(id), try snapshot.body(of: id, .response), try snapshot.metrics(of: id))
        }
        let now = fixture.time.reading().wall
        let status = record?.status
        #expect(status?.state == .completed && status?.attempts == 1 && status?.budgetMark == nil)
        #expect(status?.startedAt == now && status?.finishedAt == now)
        #expect(record?.result == TaskResult(bytes: 3, verified: false) && record?.response?.status == 200)
        #expect(body == [7, 7, 7] && metrics.entries.map(\.isFromCache) == [true])
        let events = try await fixture.events().suffix(5)
        #expect(
            events.map(\.type) == [.taskAdded, .taskStarted, .taskResponse, .taskCompleted, .sessionDrained])
        #expect(events.first?.payload["state"] == "queued" && events.prefix(4).allSatisfy { $0.task == added[0].id })
        #expect(events.dropLast().last?.payload["bytes"] == 3)
        #expect(try await fixture.store.read { try $0.counts() }.filter { $0.value > 0 } == [.completed: 1])
    }

    /// Answers are at the positions of the call, and the session has drained when no task is left.
    @Test func answeredTasksStandAmongOthers() async throws {
        let added = try await add([
            task("https://example.org/b"), answered(), task("https://example.org/c"), answered(),
        ])
        #expect(added.map(\.state) == [.queued, .completed, .queued, .completed])
        #expect(try await !fixture.events().contains { $0.type == .sessionDrained })
        let stored = try await fixture.store.read { try $0.tasks(added.map(\.id)) }
        #expect(stored.map { $0.response != nil } == [false, true, false, true])
    }

    @Test func whatDoesNotBeginIsNotAnswered() async throws {
        #expect(try await add([answered(paused: true)]).map(\.state) == [.paused])
        #expect(try await add([answered()], answering: false).map(\.state) == [.queued])
    }

    /// Because something has happened since the answers were looked up: a pause, or too many bodies.
    @Test func pausesAndFullStoresKeepTasksFromBeingAnswered() async throws {
        func mayAnswer(_ task: AdmittedTask) async throws -> Bool {
            let (key, now, transitions) = (fixture.key, fixture.time.reading(), fixture.transitions)
            return try await fixture.store.write { transaction in
                try AddBatch(
                    [task], key: key, tokens: ClientTokens([task.spec], of: key, now: now.wall),
                    configuration: SessionConfiguration(), now: now, transitions: transitions
                ).mayAnswer(in: transaction)
            }
        }
        _ = try await add([])
        #expect(try await mayAnswer(answered()))
        #expect(try await !mayAnswer(answered(size: Int(Bounds.volatileBodies) + 1)))
        let key = fixture.key
        try await fixture.store.write { transaction in
            var session = try #require(try transaction.session(key))
            session.pause.since = 1
            try transaction.updateSession(session)
        }
        #expect(try await !mayAnswer(answered()))
        #expect(try await mayAnswer(task("https://example.org/b")))
    }

    @Test func answeredTasksCountForTheQuota() async throws {
        let small = Self(fixture: try SupervisionFixture(queueLimit: 1))
        let error = await #expect(throws: TransferError.self) { try await small.add([answered(), answered()]) }
        #expect(error?.code == .limitReached)
        #expect(try await small.add([answered()]).map(\.state) == [.completed])
        #expect(try await small.add([answered()]).map(\.state) == [.completed], "the first one is over")
    }

    /// The client may have gone meanwhile, and its session with it.
    @Test func nothingIsAnsweredInASessionThatEnds() async throws {
        await #expect(throws: TransferError.self) {
            try await add([answered()]) { throw TransferError(.sessionInvalidated, "gone") }
        }
        #expect(try await fixture.store.read { try $0.counts() }.allSatisfy { $0.value == 0 })
        #expect(try await fixture.events().isEmpty)
    }
}
