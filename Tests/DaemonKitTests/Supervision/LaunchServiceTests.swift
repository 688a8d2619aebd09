import DaemonSetup
import Logging
import TestSupport
import Testing
import Threading
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct LaunchServiceTests {
    /// A session with a program, and services that never look again by themselves.
    private final class Stage: Sendable {
        let fixture: SupervisionFixture
        let programs = ScriptedPrograms()
        /// How long the service wanted to wait before it looks again.
        let sleeps = Guarded([Seconds]())
        let isConnected = Guarded(false)
        /// Happens once, between a read of the store and the decision.
        struct Meanwhile: Sendable { var body: (@Sendable () async throws -> Void)? }
        let meanwhile = Guarded(Meanwhile())
        private let defaults: SessionDefaults
        private let current = Guarded<LaunchService?>(nil)

        init(defaults: SessionDefaults = SessionDefaults()) throws {
            fixture = try SupervisionFixture()
            self.defaults = defaults
            restart()
        }

        var service: LaunchService? { current.withLock { $0 } }

        /// Starts another daemon with the same store.
        func restart() {
            let (sleeps, isConnected, meanwhile, store) = (sleeps, isConnected, meanwhile, fixture.store)
            let defaults = defaults
            let service = LaunchService(
                store: store, programs: programs, time: fixture.time,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                isConnected: { _, _ in isConnected.withLock { $0 } }, defaults: { defaults },
                unseen: { key, subscriber in
                    let count = try await store.read { try $0.unacknowledgedFinalEvents(key, subscriber: subscriber) }
                    let happens = meanwhile.withLock { meanwhile -> Meanwhile in
                        defer { meanwhile.body = nil }
                        return meanwhile
                    }
                    try await happens.body?()
                    return count
                },
                sleep: { interval in
                    sleeps.withLock { $0.append(interval) }
                    try? await Task.sleep(for: .seconds(86400))
                })
            current.withLock { $0 = service }
        }

        func open(interval: Seconds? = nil) async throws {
            var launch = LaunchSpec()
            launch.argv = ["/bin/sh"]
            var configuration = SessionConfiguration()
            configuration.sendsLaunchEvents = true
            configuration.subscriber = "reader"
            configuration.launch = launch
            configuration.launchInterval = interval
            _ = try await fixture.add(hosts: [], configuration: configuration)
        }

        func end() async throws {
            let (key, now) = (fixture.key, fixture.time.reading().wall)
            try await fixture.store.write {
                _ = try $0.append(EventRecord(time: now, type: .taskCompleted, session: key, task: TaskID(1)))
            }
        }

        /// Looks at the session, and waits until every end of a program is stored.
        func consider() async throws {
            await service?.consider(fixture.key)
            _ = await eventually {
                // The end of a program causes a look too, which this one may have joined.
                if await self.service?.isLooking == true { return false }
                guard let launch = try? await self.launch(), let program = launch.program else {
                    // The end is stored, but its consequences are still to come.
                    return await self.service?.isIdle ?? true
                }
                return self.programs.isRunning(program)
            }
        }

        func launch() async throws -> LaunchRecord? {
            let key = fixture.key
            return try await fixture.store.read { try $0.launch(key) }
        }

        var launches: Int { programs.launches }
    }

    @Test func theConfigurationSaysHowOftenUnlessTheSessionDoes() async throws {
        var defaults = SessionDefaults()
        defaults.launchInterval = 600
        let stage = try Stage(defaults: defaults)
        try await stage.open()
        try await stage.end()
        try await stage.consider()
        #expect(stage.launches == 1)
        #expect(stage.programs.subscribers == ["reader"])
        stage.fixture.time.advance(599)
        try await stage.consider()
        #expect(stage.launches == 1)
        stage.fixture.time.advance(1)
        try await stage.consider()
        #expect(stage.launches == 2)
    }

    @Test func aLaunchIsCheckedBeforeAnythingAsksForIt() throws {
        let stage = try Stage()
        var configuration = SessionConfiguration()
        configuration.launch = LaunchSpec()
        configuration.launch?.unit = "no unit"
        let refused = #expect(throws: TransferError.self) { try stage.service?.check(configuration) }
        #expect(refused?.code == .badField && refused?.details["field"] == "configuration.launch.unit")
    }

    @Test func theSessionsOwnIntervalComesFirst() async throws {
        var defaults = SessionDefaults()
        defaults.launchInterval = 600
        let stage = try Stage(defaults: defaults)
        try await stage.open(interval: 5)
        try await stage.end()
        try await stage.consider()
        stage.fixture.time.advance(5)
        try await stage.consider()
        #expect(stage.launches == 2)
    }

    /// A thousand files that arrive while nobody listens cause one further look.
    @Test func oneLooksAgainHoweverManyTasksEnd() async throws {
        let stage = try Stage()
        try await stage.open()
        for _ in 0..<5 {
            try await stage.end()
            try await stage.consider()
        }
        #expect(await eventually { !stage.sleeps.withLock(\.isEmpty) })
        #expect(stage.sleeps.withLock { $0 } == [60])
    }

    /// Looks that have not begun are merged. Looks in progress do not count for what ends later.
    @Test func eachEndIsLookedAt() async throws {
        let stage = try Stage()
        try await stage.open(interval: 5)
        for number in 1...3 {
            try await stage.end()
            for _ in 0..<9 { stage.service?.look(at: stage.fixture.key) }
            #expect(await eventually { stage.launches >= number })
            stage.fixture.time.advance(5)
        }
    }

    /// The look has read that there is nothing, and perhaps nobody will ever request another one.
    @Test func whatEndsDuringALookIsLookedAtToo() async throws {
        let stage = try Stage()
        try await stage.open()
        stage.meanwhile.withLock { meanwhile in
            meanwhile.body = {
                try await stage.end()
                await stage.service?.consider(stage.fixture.key)
            }
        }
        try await stage.consider()
        #expect(stage.launches == 1)
    }

    @Test func noProgramIsStartedForASubscriberThatListens() async throws {
        let stage = try Stage()
        try await stage.open()
        stage.isConnected.withLock { $0 = true }
        try await stage.consider()
        try await stage.end()
        try await stage.consider()
        #expect(stage.launches == 0)
        stage.isConnected.withLock { $0 = false }
        try await stage.consider()
        #expect(stage.launches == 1)
    }

    // MARK: What outlives a daemon

    @Test func theIntervalHoldsOverRestarts() async throws {
        let stage = try Stage()
        try await stage.open()
        try await stage.end()
        try await stage.consider()
        for _ in 0..<3 {
            stage.fixture.time.advance(19)
            stage.restart()
            try await stage.consider()
        }
        #expect(stage.launches == 1)
        stage.fixture.time.advance(3)
        stage.restart()
        try await stage.consider()
        #expect(stage.launches == 2)
    }

    /// The child of a killed daemon has no parent that sees its end.
    @Test func aProgramOfAnEarlierDaemonIsNotStartedBesideItself() async throws {
        let stage = try Stage()
        try await stage.open()
        try await stage.end()
        stage.programs.status.withLock { $0 = nil }
        try await stage.consider()
        stage.restart()
        stage.fixture.time.advance(86400)
        try await stage.consider()
        #expect(stage.launches == 1)
        stage.programs.end(0, isSeen: false)
        try await stage.consider()
        #expect(stage.launches == 2)
    }

    @Test func aClockThatIsSetBackDoesNotMakeItWaitLonger() async throws {
        let stage = try Stage()
        try await stage.open()
        try await stage.end()
        try await stage.consider()
        stage.fixture.time.jump(-86400)
        let now = stage.fixture.time.reading().wall
        _ = try await stage.fixture.store.write { try $0.clockWentBack(by: 86400, to: now) }
        stage.fixture.time.advance(59)
        try await stage.consider()
        #expect(stage.launches == 1)
        stage.fixture.time.advance(1)
        try await stage.consider()
        #expect(stage.launches == 2)
    }

    /// A daemon that dies before the process may begin leaves no program behind, and one that cannot store the start
    /// starts none.
    @Test func nothingBeginsBeforeItIsStored() async throws {
        let stage = try Stage()
        try await stage.open()
        try await stage.end()
        stage.meanwhile.withLock { $0.body = { stage.fixture.store.close() } }
        await stage.service?.consider(stage.fixture.key)
        #expect(stage.programs.prepared == 1 && stage.launches == 0)
    }

    // MARK: Failures

    @Test(arguments: [true, false])
    func failuresDoubleTheIntervalAndSuccessEndsThat(canStart: Bool) async throws {
        let stage = try Stage()
        try await stage.open(interval: 10)
        try await stage.end()
        if canStart {
            stage.programs.status.withLock { $0 = 137 }
        } else {
            stage.programs.canStart.withLock { $0 = false }
        }
        try await stage.consider()
        for (failures, delay) in [(1, 20.0), (2, 40), (3, 80)] {
            #expect(try await stage.launch()?.failures == failures)
            stage.fixture.time.advance(Seconds(delay - 1))
            stage.restart()
            try await stage.consider()
            #expect(try await stage.launch()?.failures == failures)
            stage.fixture.time.advance(1)
            try await stage.consider()
        }
        #expect(try await stage.launch()?.failures == 4)
        stage.programs.status.withLock { $0 = 0 }
        stage.programs.canStart.withLock { $0 = true }
        stage.fixture.time.advance(160)
        try await stage.consider()
        #expect(try await stage.launch()?.failures == 0)
        let launches = stage.launches
        stage.fixture.time.advance(10)
        try await stage.consider()
        #expect(stage.launches == launches + 1)
    }

    // MARK: The end of launches

    @Test func aForgottenSubscriberIsStartedNoMore() async throws {
        let stage = try Stage()
        try await stage.open()
        let key = stage.fixture.key
        try await stage.fixture.store.write { try $0.introduce("reader", owner: key.owner) }
        try await stage.end()
        #expect(try await stage.fixture.store.forget("reader", owner: key.owner))
        try await stage.consider()
        #expect(stage.launches == 0)
        let session = try await stage.fixture.store.read { try $0.session(key) }
        #expect(session?.configuration.sendsLaunchEvents == nil && session?.configuration.launch != nil)
    }

    // MARK: What runs

    /// The program has ended, but nobody has been told yet.
    @Test func aFailureCountsHoweverLateItIsTold() async throws {
        let stage = try Stage()
        try await stage.open(interval: 10)
        try await stage.end()
        stage.programs.status.withLock { $0 = nil }
        await stage.service?.consider(stage.fixture.key)
        let told = stage.programs.endUnseen()
        stage.fixture.time.advance(86400)
        await stage.service?.consider(stage.fixture.key)
        #expect(stage.launches == 1)
        told.forEach { $0(1) }
        #expect(await eventually { (try? await stage.launch()?.failures) == 1 })
    }

    /// Sessions of `owner`, each with a program and an unseen event.
    private func crowd(_ stage: Stage, _ count: Int, of owner: UInt32) async throws -> [SessionKey] {
        let now = stage.fixture.time.reading().wall
        var configuration = SessionConfiguration()
        configuration.sendsLaunchEvents = true
        configuration.subscriber = "reader"
        configuration.launch = LaunchSpec()
        configuration.launch?.argv = ["/bin/sh"]
        let stored = configuration
        return try await stage.fixture.store.write { transaction in
            try (0..<count).map { number in
                let key = SessionKey(owner: UserID(owner), identifier: "s\(number)")
                try transaction.insertSession(SessionRecord(key: key, configuration: stored, createdAt: now))
                _ = try transaction.append(EventRecord(time: now, type: .taskCompleted, session: key, task: TaskID(1)))
                return key
            }
        }
    }

    @Test func oneOwnersProgramsAreFew() async throws {
        let stage = try Stage()
        stage.programs.status.withLock { $0 = nil }
        let keys = try await crowd(stage, Bounds.launchesOfUser + 1, of: 1000)
        for key in keys { await stage.service?.consider(key) }
        #expect(stage.launches == Bounds.launchesOfUser)
        #expect(await eventually { stage.sleeps.withLock(\.count) == keys.count })
        let others = try await crowd(stage, 1, of: 1001)
        await stage.service?.consider(others[0])
        #expect(stage.launches == Bounds.launchesOfUser + 1)
        stage.programs.end(0)
        #expect(
            await eventually {
                await stage.service?.consider(keys[Bounds.launchesOfUser])
                return stage.launches == Bounds.launchesOfUser + 2
            })
    }

    @Test func allProgramsTogetherAreFew() async throws {
        let stage = try Stage()
        stage.programs.status.withLock { $0 = nil }
        for owner in 0..<UInt32(Bounds.launches / Bounds.launchesOfUser + 1) {
            for key in try await crowd(stage, Bounds.launchesOfUser, of: 1000 + owner) {
                await stage.service?.consider(key)
            }
        }
        #expect(stage.launches == Bounds.launches)
    }
}
