import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

struct SupervisedSessionPauseTests {
    private let fixture: SupervisionFixture

    init() throws {
        fixture = try SupervisionFixture { spec, session in
            var policy = SupervisionFixture.plain(spec, session)
            policy.resourceTimeout = 100
            return policy
        }
    }

    private func set(_ pause: SessionPause) async throws {
        let key = fixture.key
        let session = try await fixture.store.write { transaction in
            var session = try #require(try transaction.session(key))
            session.pause = pause
            try transaction.updateSession(session)
            return session
        }
        fixture.transitions.clocks.note(session)
    }

    private func claim(_ ids: [TaskID]) async throws -> [TaskID] {
        let transitions = fixture.transitions
        return try await fixture.store.write { try transitions.claim(ids, sessions: [:], in: $0) }.map(\.id)
    }

    private func candidates(wanted: [TaskID] = []) async throws -> [TaskID] {
        var query = CandidateQuery()
        query.wantedTasks = wanted
        return try await fixture.store.read { [query] in try $0.candidates(query).tasks }.map(\.id)
    }

    /// They are neither read nor claimed, even if they were read before.
    @Test func noTaskOfAPausedSessionIsClaimed() async throws {
        let ids = try await fixture.add(hosts: ["a", "b"]).map(\.id)
        try await set(SessionPause(since: 1_000_000))
        #expect(try await candidates() == [])
        #expect(try await candidates(wanted: ids) == [])
        #expect(try await claim(ids) == [])
        try await set(SessionPause())
        #expect(try await candidates() == ids)
        #expect(try await claim(ids) == ids)
    }

    /// No task is changed for this.
    @Test func timeForTheResourceStandsMeanwhile() async throws {
        let id = try await fixture.add(hosts: ["a"])[0].id
        fixture.time.advance(40)
        var pause = SessionPause()
        _ = pause.begin(at: fixture.time.reading())
        try await set(pause)
        fixture.time.advance(1000)
        let (transitions, now) = (fixture.transitions, fixture.time.reading())
        let isPostponed = try await fixture.store.write { transaction in
            try transitions.postponed(try #require(try transaction.task(id)), at: now, in: transaction)
        }
        #expect(isPostponed)
        // The task's own pause records the used time: 40 seconds, without those of the session's pause.
        let paused = try await fixture.apply(.pause, to: id).record.status
        #expect(paused.budgetUsed == 40)
        _ = try await fixture.apply(.resume(notBefore: nil), to: id)
        _ = pause.end(at: fixture.time.reading())
        try await set(pause)
        fixture.time.advance(59)
        let record = try #require(try await fixture.store.read { try $0.task(id) })
        let left = fixture.transitions.expiry(
            record.spec.timeoutIntervalForResource, record.$status, in: fixture.key, at: fixture.time.reading())
        #expect(left?.since(fixture.time.reading().wall) == 1)
    }

    // MARK: Clients and boots

    private func supervision() async throws -> (Supervision, ConfigurationFixture) {
        let home = try ConfigurationFixture()
        _ = try await fixture.add(hosts: [])
        return (try fixture.supervision(in: home, pool: BlockingPool(width: 0)), home)
    }

    /// With two clients, the clock is that of the last commit: it is set before either is told.
    @Test func theClockChangesWithTheCommit() async throws {
        let (supervision, home) = try await supervision()
        let clocks = supervision.transitions.clocks
        let seen = Guarded([Int]())
        fixture.store.onCommit { _ in seen.withLock { $0.append(clocks.count) } }
        _ = try await supervision.services.sessions.pause(fixture.key)
        _ = try await supervision.services.sessions.resume(fixture.key)
        #expect(seen.withLock { $0 } == [1, 0])
        _ = home
    }

    /// A refused change of a client does not change the clock.
    @Test func aSessionThatIsOverHasNoClock() async throws {
        let (supervision, home) = try await supervision()
        _ = try await supervision.services.sessions.pause(fixture.key)
        #expect(supervision.transitions.clocks.count == 1)
        _ = try await supervision.services.sessions.finish(fixture.key)
        #expect(supervision.transitions.clocks.count == 0)
        await #expect(throws: TransferError.self) { try await supervision.services.sessions.pause(fixture.key) }
        #expect(supervision.transitions.clocks.count == 0)
        _ = home
    }

    /// The clock of another boot says nothing about pauses in this one.
    @Test func earlierPausesAreOfTheirBoot() async throws {
        let (supervision, home) = try await supervision()
        func stored() async throws -> SessionPause? {
            try await fixture.store.read { [key = fixture.key] in try $0.session(key)?.pause }
        }
        try await set(SessionPause(since: 900_000, time: 500_000))
        for _ in 0..<2 {
            try await supervision.sessionController.recallPauses(in: "first")
            #expect(try await stored() == SessionPause(since: 900_000, time: 500_000))
        }
        try await supervision.sessionController.recallPauses(in: "second")
        #expect(try await stored() == SessionPause(since: 1_000_000))
        try await set(SessionPause(time: 500_000))
        try await supervision.sessionController.recallPauses(in: "third")
        #expect(try await stored() == SessionPause())
        let now = fixture.time.reading()
        #expect(supervision.transitions.clocks.reading(now, of: fixture.key) == now)
        _ = home
    }
}
