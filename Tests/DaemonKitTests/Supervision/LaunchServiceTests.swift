import Logging
import TestSupport
import Testing
import Threading
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct LaunchServiceTests {
    /// A session whose program writes a line, and a service that never looks again by itself.
    private final class Stage: Sendable {
        let fixture: SupervisionFixture
        private let temporary: TemporaryFolder
        private let runner: LaunchRunner
        /// What it wanted to wait before it looks again.
        let sleeps = Guarded([Seconds]())
        let isConnected = Guarded(false)
        /// What happens, once, between a look into the store and what is made of it.
        struct Meanwhile: Sendable { var body: (@Sendable () async throws -> Void)? }
        let meanwhile = Guarded(Meanwhile())
        let service: LaunchService

        init(defaults: SessionDefaults = SessionDefaults()) throws {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let (sleeps, isConnected, meanwhile) = (sleeps, isConnected, meanwhile)
            fixture = try SupervisionFixture()
            let store = fixture.store
            temporary = try TemporaryFolder()
            runner = LaunchRunner(
                mode: .user, environment: ["PATH": "/usr/bin:/bin"], socket: "/run/dld.sock", logger: logger)
            service = LaunchService(
                store: fixture.store, runner: runner, time: fixture.time, logger: logger,
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
        }

        func open(interval: Seconds? = nil) async throws {
            var launch = LaunchSpec()
            launch.argv = ["sh", "-c", "echo >> \(temporary.file("launches"))"]
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

        /// Looks at the session, and waits for the program if one was started.
        func consider() async {
            await service.consider(fixture.key)
            while await runner.isRunning(fixture.key) { await Task.yield() }
        }

        var launches: Int { (try? Files.text(temporary.file("launches")).count) ?? 0 }
    }

    @Test func theConfigurationSaysHowOftenWhereTheSessionDoesNot() async throws {
        var defaults = SessionDefaults()
        defaults.launchInterval = 600
        let stage = try Stage(defaults: defaults)
        try await stage.open()
        try await stage.end()
        await stage.consider()
        #expect(stage.launches == 1)
        stage.fixture.time.advance(599)
        await stage.consider()
        #expect(stage.launches == 1)
        stage.fixture.time.advance(1)
        await stage.consider()
        #expect(stage.launches == 2)
    }

    @Test func aLaunchIsCheckedBeforeAnythingAsksForIt() throws {
        let stage = try Stage()
        var configuration = SessionConfiguration()
        configuration.launch = LaunchSpec()
        configuration.launch?.unit = "no unit"
        let refused = #expect(throws: TransferError.self) { try stage.service.check(configuration) }
        #expect(refused?.code == .badField && refused?.details["field"] == "configuration.launch.unit")
    }

    @Test func theSessionsOwnIntervalComesFirst() async throws {
        var defaults = SessionDefaults()
        defaults.launchInterval = 600
        let stage = try Stage(defaults: defaults)
        try await stage.open(interval: 5)
        try await stage.end()
        await stage.consider()
        stage.fixture.time.advance(5)
        await stage.consider()
        #expect(stage.launches == 2)
    }

    /// A thousand files that arrive while nobody listens are one thing to look at again.
    @Test func oneLooksAgainHoweverManyTasksEnd() async throws {
        let stage = try Stage()
        try await stage.open()
        for _ in 0..<5 {
            try await stage.end()
            await stage.consider()
        }
        #expect(await eventually { !stage.sleeps.withLock(\.isEmpty) })
        #expect(stage.sleeps.withLock { $0 } == [60])
    }

    /// The look has read that there is nothing, and nobody else may ever ask for another.
    @Test func whatEndsDuringALookIsLookedAtToo() async throws {
        let stage = try Stage()
        try await stage.open()
        stage.meanwhile.withLock { meanwhile in
            meanwhile.body = {
                try await stage.end()
                await stage.service.consider(stage.fixture.key)
            }
        }
        await stage.consider()
        #expect(stage.launches == 1)
    }

    @Test func whoeverListensNeedsNoProgram() async throws {
        let stage = try Stage()
        try await stage.open()
        stage.isConnected.withLock { $0 = true }
        await stage.consider()
        try await stage.end()
        await stage.consider()
        #expect(stage.launches == 0)
        stage.isConnected.withLock { $0 = false }
        await stage.consider()
        #expect(stage.launches == 1)
    }
}
