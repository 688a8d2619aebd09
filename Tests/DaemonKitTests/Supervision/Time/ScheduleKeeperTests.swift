import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

/// Tasks that wait for a time window while another window or another clock takes effect.
@Suite struct ScheduleKeeperTests {
    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture
    private let supervision: Supervision

    init() throws {
        fixture = try SupervisionFixture()
        home = try ConfigurationFixture()
        supervision = try fixture.supervision(in: home, pool: BlockingPool(width: 0))
    }

    private static let hour: Seconds = 3600

    private func now() -> Timestamp { fixture.time.reading().wall }

    /// A window in local time, between these numbers of hours from now.
    private func schedule(_ from: Double, _ to: Double) -> SessionConfiguration {
        func text(_ hours: Double) -> String {
            let time = now().advanced(by: Seconds(hours * Self.hour.rawValue))
            let minute = (Int(time.rawValue / 1000) + LocalTime.utcOffset(time)) / 60 % 1440
            return [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        }
        var configuration = SessionConfiguration()
        configuration.schedule = [ScheduleWindow(begin: text(from), end: text(to))]
        return configuration
    }

    /// This number of hours from now, at the beginning of the minute.
    private func opening(_ hours: Double) -> Timestamp {
        let time = now().advanced(by: Seconds(hours * Self.hour.rawValue))
        return Timestamp(milliseconds: time.rawValue / 60_000 * 60_000)
    }

    /// Adds a task of a session with that schedule, which is closed, and makes it wait.
    private func waiting(_ configuration: SessionConfiguration, earliest: Timestamp? = nil) async throws -> TaskID {
        let task = try await fixture.add(hosts: ["h"], configuration: configuration)[0]
        if let earliest {
            var spec = task.spec
            spec.earliestBeginAt = earliest
            let dated = spec
            try await fixture.store.write { try $0.setSpec(task.id, dated, host: task.host) }
        }
        let session = SessionRecord(key: fixture.key, configuration: configuration, createdAt: now())
        let next = try #require(supervision.schedules.windows.closedUntil(session, at: now()))
        _ = try await fixture.apply(.blocked(.schedule, nil, nextAttemptAt: earliest ?? next), to: task.id)
        return task.id
    }

    private func change(_ configuration: SessionConfiguration) async throws {
        let peer = Peer(uid: fixture.key.owner, gid: 1000, pid: 1, isAdmin: false)
        _ = try await supervision.services.sessions.open(
            fixture.key, kind: .background, configuration: configuration, by: peer)
    }

    private func status(_ id: TaskID) async throws -> TaskStatus? {
        try await fixture.store.read { try $0.task(id) }?.status
    }

    /// Followers of events are not told about thousands of tasks that have not changed.
    @Test func aWindowThatOpensEarlierOrLaterIsWaitedForInstead() async throws {
        let begin = now().advanced(by: 20_000)
        let id = try await waiting(schedule(10, 12))
        let dated = try await waiting(schedule(10, 12), earliest: begin)
        #expect(try await status(id)?.nextAttemptAt == opening(10))
        let events = try await fixture.events().count
        for hours in [2.0, 5.0] {
            try await change(schedule(hours, hours + 1))
            let seen = try await status(id)
            #expect(seen?.state == .waiting && seen?.reason == .schedule)
            #expect(seen?.nextAttemptAt == opening(hours))
            #expect(try await status(dated)?.nextAttemptAt == begin)
        }
        #expect(try await fixture.events().count == events)
        fixture.time.advance(Seconds(5 * Self.hour.rawValue))
        #expect(try await supervision.waiting.wake(at: fixture.time.reading(), limit: 10) == 1)
    }

    enum Change: Sendable { case openWindow, noWindow, null }

    @Test(arguments: [Change.openWindow, .noWindow, .null])
    func whatMayBeginAtOnceIsQueued(by step: Change) async throws {
        let begin = now().advanced(by: 20_000)
        let id = try await waiting(schedule(10, 12))
        let dated = try await waiting(schedule(10, 12), earliest: begin)
        var other = schedule(-1, 1)
        switch step {
        case .openWindow: break
        case .noWindow: other.schedule = []
        case .null: other.clear(\.schedule)
        }
        try await change(other)
        #expect(try await status(id)?.state == .queued)
        #expect(try await status(dated)?.state == .waiting)
        #expect(try await status(dated)?.nextAttemptAt == begin)
    }

    @Test func tasksOfOtherSessionsWaitOn() async throws {
        let id = try await waiting(schedule(10, 12))
        let other = SessionKey(owner: fixture.key.owner, identifier: "other")
        try await supervision.schedules.reconsider(of: other, at: now().advanced(by: Seconds(11 * Self.hour.rawValue)))
        #expect(try await status(id)?.state == .waiting)
    }

    /// Noticed by a running daemon, or by the next one.
    @Test(arguments: [true, false])
    func aClockSetBackIntoTheWindowQueues(whileRunning: Bool) async throws {
        let id = try await waiting(schedule(-3, -1))
        if whileRunning { try await supervision.clock.begin() }
        fixture.time.jump(-7200)
        if whileRunning { try await supervision.clock.follow() } else { try await supervision.clock.begin() }
        #expect(try await status(id)?.state == .queued)
    }

    @Test func aClockSetBackBeforeTheWindowWaitsForItAnew() async throws {
        let id = try await waiting(schedule(-2, -1))
        let again = opening(-2)
        #expect(try await status(id)?.nextAttemptAt == opening(22))
        let events = try await fixture.events().count
        try await supervision.clock.begin()
        fixture.time.jump(-10_800)
        try await supervision.clock.follow()
        #expect(try await status(id)?.nextAttemptAt == again)
        #expect(try await fixture.events().count == events)
    }

    /// The times that the tasks wait for were computed in the earlier time zone.
    @Test func aTimeZoneThatWasSetCountsToo() async throws {
        let id = try await waiting(schedule(10, 12))
        try await supervision.clock.begin()
        supervision.clock.memory.withLock { $0?.utcOffset += 3600 }
        try await fixture.store.write { transaction in
            guard let record = try transaction.task(id) else { return }
            var status = record.status
            status.nextAttemptAt = status.nextAttemptAt?.advanced(by: 3600)
            _ = try transaction.update(id, from: .waiting, to: status)
        }
        try await supervision.clock.follow()
        #expect(try await status(id)?.nextAttemptAt == opening(10))
        #expect(supervision.clock.memory.withLock { $0?.hasStaleSchedules } == false)
    }
}
