import Glibc
import TestSupport
import Testing
import Threading
import TransferModel
import TransferStore

@testable import DaemonKit

/// Two supervisions, each with its own store, over one engine and one set of slots.
@Suite struct SupervisionTests {
    private static let slots = 3
    private static let tasks = 6
    private let peer = Peer(uid: UserID(getuid()), gid: getgid(), pid: 1, isAdmin: false)

    private func add(_ supervision: Supervision, _ origin: MisbehavingOrigin, to folder: String) async throws {
        let specs = (0..<Self.tasks).map { index in
            var spec = TaskSpec()
            spec.url = origin.url("/file")
            spec.destination = Destination(path: "\(folder)-\(index)")
            return spec
        }
        _ = try await supervision.services.adder.add(specs, session: nil, by: peer)
    }

    private func completed(_ fixture: SupervisionFixture) async throws -> Int {
        try await fixture.store.read { try $0.counts(owner: nil)[.completed] ?? 0 }
    }

    @Test(.timeLimit(.minutes(1)))
    func twoShareTheSlotsOfOneEngine() async throws {
        let home = try ConfigurationFixture()
        try home.write("maximumConcurrentTasks: \(Self.slots)\n", to: home.userFile)
        let origin = try MisbehavingOrigin()
        origin.serve("/file", .good(.version(1, size: 20_000), rate: 200_000))
        let fixtures = [try SupervisionFixture(), try SupervisionFixture()]
        let engine = try SupervisionFixture.engine(in: home)
        let slots = SharedSlots(time: fixtures[0].time)
        let both = try fixtures.map { try $0.supervision(in: home, engine: engine, slots: slots) }
        // Ids are unique in a daemon, because the engine distinguishes transfers by them.
        _ = try await fixtures[1].add(hosts: Array(repeating: "none", count: Self.tasks))
        for supervision in both { try await supervision.recover() }
        _ = try await both[1].services.controller.control(
            .cancel(keepPartial: false), ControlTarget(scope: .all, owner: .everyone))
        for (index, supervision) in both.enumerated() {
            try await add(supervision, origin, to: "\(home.root)/\(index)")
            try await supervision.start()
        }
        let isDone = await eventually {
            #expect(slots.holders.count <= Self.slots)
            let counts = [try? await completed(fixtures[0]), try? await completed(fixtures[1])]
            return counts == [Self.tasks, Self.tasks]
        }
        #expect(isDone)
        for supervision in both { await supervision.stop() }
        await engine.shutdown()
    }

    /// A client that asks for the task as soon as it hears of the question must see that it is asked.
    @Test(.timeLimit(.minutes(1))) func thePhaseOfAQuestionComesBeforeItsEvent() async throws {
        let home = try ConfigurationFixture()
        let fixture = try SupervisionFixture()
        let origin = try MisbehavingOrigin()
        origin.serve("/file", .good(.version(1, size: 20_000)))
        let engine = try SupervisionFixture.engine(in: home)
        let supervision = try fixture.supervision(in: home, engine: engine)
        let (runs, phases) = (supervision.runs, Guarded<[TaskPhase?]>([]))
        fixture.store.onCommit { events in
            for event in events where event.type == .taskDecision {
                phases.withLock { $0.append(event.task.flatMap { runs[$0]?.figures().phase }) }
            }
        }
        var configuration = SessionConfiguration()
        configuration.asks = [.response]
        let session = SessionRecord(
            key: SessionKey(owner: peer.uid, identifier: "asking"), configuration: configuration,
            createdAt: fixture.time.reading().wall)
        try await fixture.store.write { try $0.insertSession(session) }
        var spec = TaskSpec()
        spec.url = origin.url("/file")
        spec.destination = Destination(path: home.root + "/file")
        try await supervision.recover()
        _ = try await supervision.services.adder.add([spec], session: session.key.identifier, by: peer)
        try await supervision.start()
        #expect(await eventually { !phases.withLock { $0.isEmpty } })
        #expect(phases.withLock { $0 } == [.deciding])
        await supervision.stop()
        await engine.shutdown()
    }

    /// Background sessions have no such tasks. `waitsForConnectivity` is false by default.
    @Test(.timeLimit(.minutes(1)), arguments: [SessionKind.default, .ephemeral])
    func aTaskThatDoesNotWaitFailsWithoutAConnection(kind: SessionKind) async throws {
        let home = try ConfigurationFixture()
        let fixture = try SupervisionFixture()
        let engine = try SupervisionFixture.engine(in: home)
        let supervision = try fixture.supervision(in: home, engine: engine)
        let (key, now) = (SessionKey(owner: peer.uid, identifier: "volatile"), fixture.time.reading().wall)
        try await fixture.store.write {
            try $0.insertSession(SessionRecord(key: key, kind: kind, createdAt: now))
        }
        var specs = [TaskSpec(), TaskSpec()]
        for index in specs.indices {
            specs[index].url = "http://127.0.0.1:\(try ListeningSocket.freePort())/file"
            specs[index].destination = Destination(path: home.root + "/\(index)")
        }
        specs[1].waitsForConnectivity = true
        try await supervision.recover()
        let added = try await supervision.services.adder.add(specs, session: key.identifier, by: peer)
        try await supervision.start()
        let (store, ids) = (fixture.store, added.map(\.id))
        func status(_ id: TaskID) async throws -> TaskStatus? { try await store.read { try $0.task(id)?.status } }
        #expect(try await eventually { try await status(ids[0])?.state == .failed })
        #expect(try await eventually { try await status(ids[1])?.state == .waiting })
        let failed = try await status(ids[0])
        #expect(failed?.error?.code == .networkConnect && failed?.attempts == 1, "\(failed as Any)")
        await supervision.stop()
        await engine.shutdown()
    }

    /// The next claim can share the commit of an end: when that is durable, the slot is free and the run still exists.
    @Test(.timeLimit(.minutes(1)))
    func anEndGivesItsSlotBackBeforeItIsDurable() async throws {
        let home = try ConfigurationFixture()
        try home.write("maximumConcurrentTasks: 1\n", to: home.userFile)
        let origin = try MisbehavingOrigin()
        origin.serve("/file", .good(.version(1, size: 2000)))
        let fixture = try SupervisionFixture()
        let engine = try SupervisionFixture.engine(in: home)
        let supervision = try fixture.supervision(in: home, engine: engine)
        let (runs, isEnding) = (supervision.runs, Guarded<[Bool]>([]))
        fixture.store.onCommit { events in
            for case (.taskCompleted, let task?) in events.map({ ($0.type, $0.task) }) {
                let ending = runs.pendingEnds.contains { $0.task == task } && runs[task] != nil
                isEnding.withLock { $0.append(ending) }
            }
        }
        try await supervision.recover()
        try await add(supervision, origin, to: home.root + "/out")
        try await supervision.start()
        #expect(await eventually { (try? await completed(fixture)) == Self.tasks })
        #expect(isEnding.withLock { $0 } == Array(repeating: true, count: Self.tasks))
        #expect(await eventually { runs.count == 0 })
        await supervision.stop()
        await engine.shutdown()
    }
}
