import CurlEngine
import Glibc
import Logging
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit
@testable import FileKit

/// The wall clock is set while a daemon runs, and while none runs.
@Suite struct ClockKeeperTests {
    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture

    init() throws {
        fixture = try SupervisionFixture()
        home = try ConfigurationFixture()
    }

    /// A supervision that has begun to follow the clock, as at the start of a daemon.
    private func supervision(_ settings: String = "") async throws -> Supervision {
        try home.write(settings, to: home.userFile)
        let supervision = try fixture.supervision(in: home, pool: BlockingPool(width: 0))
        try await supervision.clock.begin()
        return supervision
    }

    /// A task that failed and must be tried again in `delay`.
    private func waiting(_ disposition: AttemptFailure.Disposition) async throws -> TaskID {
        let id = try await fixture.add(hosts: ["h"])[0].id
        _ = try await fixture.apply(.claimed, to: id)
        let failure = AttemptFailure(error: TransferError(.networkLost, "Lost."), disposition: disposition)
        _ = try await fixture.apply(
            .attemptFailed(failure, RetryPolicy(), jitter: 0.5), to: id)
        return id
    }

    private func due(_ supervision: Supervision) async throws -> Int {
        try await supervision.waiting.wake(at: fixture.time.reading(), limit: 100)
    }

    @Test(arguments: [.transient(after: 50), .disk, .network] as [AttemptFailure.Disposition])
    func waitsLastNoLongerWhereTheClockGoesBack(_ disposition: AttemptFailure.Disposition) async throws {
        let supervision = try await supervision()
        _ = try await waiting(disposition)
        fixture.time.jump(-3600)
        try await supervision.clock.follow()
        #expect(try await due(supervision) == 0)
        fixture.time.advance(40)
        try await supervision.clock.follow()
        #expect(try await due(supervision) == 0, "nor any shorter")
        fixture.time.advance(21)
        #expect(try await due(supervision) == 1)
    }

    @Test func aClockSetForwardEndsWaits() async throws {
        let supervision = try await supervision()
        _ = try await waiting(.transient(after: 3000))
        fixture.time.jump(3600)
        try await supervision.clock.follow()
        #expect(try await due(supervision) == 1)
    }

    /// Dates stay as they were.
    @Test func datesStayWhereTheyAre() async throws {
        let supervision = try await supervision()
        let task = try await fixture.add(hosts: ["h"])[0]
        let (id, begin) = (task.id, fixture.time.reading().wall.advanced(by: 1800))
        var spec = task.spec
        spec.earliestBeginAt = begin
        let dated = spec
        try await fixture.store.write { try $0.setSpec(id, dated, host: task.host) }
        _ = try await fixture.apply(.blocked(.schedule, nil, nextAttemptAt: begin), to: id)
        fixture.time.jump(-3600)
        try await supervision.clock.follow()
        #expect(try await fixture.store.read { try $0.task(id) }?.status.nextAttemptAt == begin)
        fixture.time.advance(3600)
        #expect(try await due(supervision) == 0)
        fixture.time.jump(3600)
        #expect(try await due(supervision) == 1)
    }

    @Test(arguments: [-3600, -34_560_000] as [Seconds])
    func aClockSetBackWhileNoDaemonRan(_ jump: Seconds) async throws {
        _ = try await supervision()
        _ = try await waiting(.transient(after: 50))
        fixture.time.jump(jump)
        let next = try await supervision()
        #expect(try await due(next) == 0)
        fixture.time.advance(51)
        #expect(try await due(next) == 1)
    }

    /// Seven days are seven days, even for a task that was added while the clock was wrong by a year.
    @Test(arguments: [-3600, 3600, 34_560_000, -34_560_000] as [Seconds])
    func theTimeForTheResourceIsThatOfTheBootClock(_ jump: Seconds) async throws {
        let supervision = try await supervision()
        let id = try await fixture.add(hosts: ["h"])[0].id
        _ = try await fixture.apply(.claimed, to: id)
        fixture.time.jump(jump)
        try await supervision.clock.follow()
        for _ in 0..<7 {
            try await supervision.deadlines.pass(at: fixture.time.reading(), limit: 10)
            #expect(try await fixture.store.read { try $0.task(id) }?.status.state == .running)
            fixture.time.advance(86400)
        }
        try await supervision.clock.follow()
        try await supervision.deadlines.pass(at: fixture.time.reading(), limit: 10)
        let status = try await fixture.store.read { try $0.task(id) }?.status
        #expect(status?.state == .failed)
        #expect(status?.error?.code == .deadlineExceeded)
    }

    /// The time of three tasks has run out. One of them runs and cannot stop, because its disk does not answer.
    @Test func aRunThatCannotStopHoldsUpNobodysDeadline() async throws {
        let supervision = try await supervision()
        let tasks = try await fixture.add(hosts: ["h", "h", "h"])
        for task in tasks { _ = try await fixture.apply(.claimed, to: task.id) }
        let run = TransferRun(tasks[0], directHost: nil, hostAnswered: { _ in })
        supervision.runs.insert(run)
        fixture.time.advance(691_200)
        try await supervision.deadlines.pass(at: fixture.time.reading(), limit: 10)
        func state(_ task: TaskRecord) async throws -> TaskState? {
            try await fixture.store.read { try $0.task(task.id) }?.status.state
        }
        #expect(try await state(tasks[0]) == .running)
        #expect(try await state(tasks[1]) == .failed)
        #expect(try await state(tasks[2]) == .failed)
        guard case .transition(.resourceTimeoutPassed)? = run.takeAbortPlan() else {
            Issue.record("it would not fail when it has stopped")
            return
        }
        run.ended()
    }

    /// A minute with a wrong clock removes neither history nor events; a year that has really passed does.
    @Test func aLeapDropsNothingUntilItHasStood() async throws {
        let supervision = try await supervision()
        let id = try await fixture.add(hosts: ["h"])[0].id
        _ = try await fixture.apply(.cancel(keepPartial: false), to: id)
        let events = try await fixture.events().count
        await supervision.house.run()
        fixture.time.jump(34_560_000)
        await supervision.house.run()
        fixture.time.advance(60)
        await supervision.house.run()
        #expect(try await fixture.store.read { try $0.task(id) } != nil)
        #expect(try await fixture.events().count == events)
        fixture.time.jump(-34_560_000)
        await supervision.house.run()
        // Off for a year: the next daemon cannot know that, and waits as well.
        fixture.time.advance(34_560_000)
        let next = try await self.supervision()
        await next.house.run()
        #expect(try await fixture.store.read { try $0.task(id) } != nil)
        fixture.time.advance(3600)
        await next.house.run()
        #expect(try await fixture.store.read { try $0.task(id) } == nil)
        #expect(try await fixture.events().isEmpty)
    }

    /// As documented for other limits.
    @Test func aRetentionOfZeroKeepsEverything() async throws {
        let supervision = try await supervision("historyRetention: 0\neventRetention: 0\neventRetentionCount: 0\n")
        let id = try await fixture.add(hosts: ["h"])[0].id
        _ = try await fixture.apply(.cancel(keepPartial: false), to: id)
        let events = try await fixture.events().count
        fixture.time.advance(34_560_000)
        await supervision.house.run()
        #expect(try await fixture.store.read { try $0.task(id) } != nil)
        #expect(try await fixture.events().count == events)
    }

    /// One user's storm costs the others nothing.
    @Test func theLogTakesFromWhoHasTheMost() async throws {
        let supervision = try await supervision("eventRetentionCount: 100\n")
        let time = fixture.time.reading().wall
        func events(_ count: Int, of owner: UInt32) -> [EventRecord] {
            (0..<count).map { _ in
                EventRecord(time: time, type: .taskQueued, session: .shared(of: UserID(owner)), task: TaskID(1))
            }
        }
        let (few, many) = (events(40, of: 70_001), events(3000, of: 70_002))
        try await fixture.store.write { transaction in
            try transaction.append(few)
            try transaction.append(many)
        }
        await supervision.house.run()
        let counts = try await fixture.store.read { try $0.eventCounts() }
        #expect(counts[UserID(70_001)] == 40 && counts.values.reduce(0, +) == 100)
        let (first, left) = try await fixture.store.read { snapshot in
            (
                try snapshot.firstEventKept(of: UserID(70_001)),
                try snapshot.events(EventQuery(owner: UserID(70_001), limit: 1000)).count
            )
        }
        #expect(first.rawValue == 1 && left == 40)
    }

    /// Only the history is removed, not the files.
    @Test func whatRetentionTakesKeepsItsFile() async throws {
        let folder = try TemporaryFolder()
        let (store, supervision) = (fixture.store, try await supervision())
        let task = try await fixture.add(hosts: ["h"])[0]
        let file = folder.file("file")
        try Files.write(file, [1])
        let mark = FileMark(inode: UInt64(try #require(Files.status(file)).st_ino))
        _ = try await fixture.apply(.claimed, to: task.id)
        let result = TaskResult(file: file, bytes: 1, verified: false, mark: mark)
        _ = try await fixture.apply(.completed(result, duration: 1), to: task.id)
        fixture.time.advance(34_560_000)
        await supervision.house.run()
        #expect(try await store.read { try $0.task(task.id) } == nil)
        #expect(Files.names(in: folder.path) == ["file"])
    }

    /// If the daemon dies in between, no file without a task is left.
    @Test func whatRetentionTakesLosesItsPartFirst() async throws {
        let folder = try TemporaryFolder()
        let (store, supervision) = (fixture.store, try await supervision())
        let task = try await fixture.add(hosts: ["h"])[0]
        let part = folder.file(PartName.make(task: task.id, store: store.identifier))
        try Files.write(part, [1])
        var spec = task.spec
        spec.destination = Destination(directory: folder.path)
        let placed = spec
        try await store.write { try $0.setSpec(task.id, placed, host: task.host) }
        for event in [.claimed, .preempted(), .cancel(keepPartial: true)] as [TaskEvent] {
            _ = try await fixture.apply(event, to: task.id)
        }
        fixture.time.advance(34_560_000)

        // Another writer has its turn until the one that removes the task waits.
        let (isHeld, hasBegun) = (Guarded(true), Guarded(false))
        async let other: Void = store.write { _ in
            hasBegun.withLock { $0 = true }
            while isHeld.withLock({ $0 }) { usleep(1000) }
        }
        #expect(await eventually { hasBegun.withLock { $0 } })
        async let house: Void = supervision.house.run()
        let waits = await eventually { store.queuedWrites > 0 }
        #expect(waits)
        #expect(Files.names(in: folder.path) == [])
        #expect(try await store.read { try $0.task(task.id) } != nil)
        isHeld.withLock { $0 = false }
        _ = try await (other, house)
        #expect(try await store.read { try $0.task(task.id) } == nil)
    }
}
