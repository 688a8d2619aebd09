import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct TaskTransitionsDecisionsTests {
    private func asking(_ fixture: SupervisionFixture) async throws -> TaskRecord {
        var session = SessionConfiguration()
        session.asks = [.begin]
        let added = try await fixture.add(hosts: ["a"], configuration: session)[0]
        let (transitions, key) = (fixture.transitions, fixture.key)
        return try await fixture.store.write { transaction in
            var task = try #require(try transaction.task(added.id))
            task.spec.earliestBeginAt = Timestamp(milliseconds: 0)
            try transaction.setSpec(task.id, task.spec, host: task.host)
            let record = try #require(try transaction.session(key))
            let claimed = try transitions.claim([task.id], sessions: [key: record], in: transaction)
            #expect(claimed.map(\.status.state) == [.waiting])
            return try #require(try transaction.task(task.id))
        }
    }

    private func waiting(_ fixture: SupervisionFixture) -> WaitingTasks {
        WaitingTasks(store: fixture.store, transitions: fixture.transitions, signal: SupervisionSignal())
    }

    private func wake(_ fixture: SupervisionFixture) async throws {
        _ = try await waiting(fixture).wake(at: fixture.time.reading(), limit: 10)
    }

    private func decision(_ task: TaskRecord, _ fixture: SupervisionFixture) async throws -> DecisionRecord? {
        try await fixture.store.read { try $0.decision(of: task.id) }
    }

    private func status(_ task: TaskRecord, _ fixture: SupervisionFixture) async throws -> TaskStatus? {
        try await fixture.store.read { try $0.task(task.id)?.status }
    }

    @Test func theDefaultIsTakenAfterAMinuteOfTheBootClock() async throws {
        let fixture = try SupervisionFixture()
        let task = try await asking(fixture)
        let asked = fixture.time.reading().wall
        #expect(task.status.state == .waiting && task.status.reason == .decision)
        #expect(task.status.nextAttemptAt == asked.advanced(by: 60))
        #expect(try await decision(task, fixture)?.question.deadline == asked.advanced(by: 60))
        // The wall clock is set forward: nothing has passed.
        fixture.time.jump(3600)
        try await wake(fixture)
        #expect(try await status(task, fixture)?.state == .waiting)
        #expect(
            try await status(task, fixture)?.nextAttemptAt == fixture.time.reading().wall.advanced(by: 60))
        fixture.time.advance(60)
        try await wake(fixture)
        #expect(try await status(task, fixture)?.state == .queued)
        let after = try #require(try await decision(task, fixture))
        #expect(after.state == .closed && after.settled.hasBegun == true)
        // It begins now, and asks nothing more.
        let (transitions, key) = (fixture.transitions, fixture.key)
        let claimed = try await fixture.store.write { transaction in
            let record = try #require(try transaction.session(key))
            return try transitions.claim([task.id], sessions: [key: record], in: transaction)
        }
        #expect(claimed.map(\.status.state) == [.running])
        let told = try await fixture.events().filter { $0.type == .taskDecision }
        #expect(told.count == 1)
    }

    @Test func aWallClockThatGoesBackLeavesTheMinute() async throws {
        let fixture = try SupervisionFixture()
        let task = try await asking(fixture)
        fixture.time.jump(-3600)
        let now = fixture.time.reading().wall
        _ = try await fixture.store.write { try $0.clockWentBack(by: 3600, to: now) }
        #expect(try await status(task, fixture)?.nextAttemptAt == now.advanced(by: 60))
    }

    @Test func aClientThatRetriesIsAskedAgain() async throws {
        let fixture = try SupervisionFixture()
        let task = try await asking(fixture)
        _ = try await fixture.apply(.retry, to: task.id)
        let closed = try #require(try await decision(task, fixture))
        #expect(closed.state == .closed && closed.settled.hasBegun == nil)
    }
}
