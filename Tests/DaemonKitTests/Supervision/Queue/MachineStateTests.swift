import Glibc
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit

/// What the machine's network and power forbid, and its sleep, while real transfers run.
@Suite(.timeLimit(.minutes(1))) struct MachineStateTests {
    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture
    private let origin: MisbehavingOrigin
    private let told = Guarded<[Bool]>([])
    private let peer = Peer(uid: UserID(getuid()), gid: getgid(), pid: 1, isAdmin: false)

    init() throws {
        (fixture, home, origin) = (try SupervisionFixture(), try ConfigurationFixture(), try MisbehavingOrigin())
        origin.serve("/slow", .good(.version(1, size: 4_000_000), rate: 100_000))
        origin.serve("/file", .good(.version(1, size: 2000)))
    }

    private func supervision(_ settings: String = "") throws -> Supervision {
        if !settings.isEmpty { try home.write(settings, to: home.userFile) }
        let told = told
        let slots = SharedSlots(time: fixture.time) { now in told.withLock { $0.append(now) } }
        return try fixture.supervision(in: home, slots: slots)
    }

    private func started(_ settings: String = "") async throws -> Supervision {
        let supervision = try supervision(settings)
        try await supervision.recover()
        try await supervision.start()
        return supervision
    }

    private func add(
        _ supervision: Supervision, _ path: String = "/file", session: String? = nil,
        _ change: (inout TaskSpec) -> Void = { _ in }
    ) async throws -> TaskID {
        var spec = TaskSpec()
        spec.url = origin.url(path)
        spec.destination = Destination(directory: home.root)
        change(&spec)
        return try await supervision.services.adder.add([spec], session: session, by: peer)[0].id
    }

    private func status(_ id: TaskID) async throws -> TaskStatus? {
        try await fixture.store.read { try $0.task(id)?.status }
    }

    private func reaches(_ state: TaskState, _ reason: WaitReason? = nil, _ id: TaskID) async throws -> Bool {
        try await eventually {
            let now = try await status(id)
            return now?.state == state && now?.reason == reason
        }
    }

    private func machine(_ change: (inout MachineConditions) -> Void = { _ in }) -> MachineConditions {
        var machine = MachineConditions()
        change(&machine)
        return machine
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var reason: WaitReason
        var forbid: @Sendable (inout TaskSpec) -> Void
        var machine: @Sendable (inout MachineConditions) -> Void
    }

    private static let cases = [
        Case(
            testDescription: "metered", reason: .metered, forbid: { $0.allowsExpensiveNetworkAccess = false },
            machine: { $0.isMetered = true }),
        Case(
            testDescription: "cellular", reason: .metered, forbid: { $0.allowsCellularAccess = false },
            machine: { $0.isCellular = true }),
        Case(
            testDescription: "battery", reason: .power, forbid: { $0.isDiscretionary = true },
            machine: { $0.isOnBattery = true }),
        Case(testDescription: "portal", reason: .portal, forbid: { _ in }, machine: { $0.isBehindPortal = true }),
    ]

    /// It keeps its bytes, names the condition, and goes on by itself.
    @Test(arguments: cases) func aRunningTaskWaitsAndGoesOn(_ test: Case) async throws {
        let supervision = try await started()
        let forbidden = try await add(supervision, "/slow", test.forbid)
        #expect(await eventually { supervision.runs[forbidden].map { $0.bytesTransferred > 20_000 } ?? false })
        supervision.apply(machine(test.machine))
        #expect(try await reaches(.waiting, test.reason, forbidden))
        let waits = try #require(try await fixture.store.read { try $0.task(forbidden) })
        #expect(waits.status.error?.details["condition"]?.stringValue == test.testDescription)
        #expect(waits.status.nextAttemptAt == nil && (waits.checkpoint?.offset.rawValue ?? 0) > 0)
        let new = try await add(supervision, "/file", test.forbid)
        #expect(try await reaches(.waiting, test.reason, new))
        #expect(await eventually { supervision.runs.count == 0 })
        origin.serve("/slow", .good(.version(1, size: 4_000_000)))
        supervision.apply(machine())
        #expect(try await reaches(.completed, nil, forbidden))
        #expect(try await reaches(.completed, nil, new))
        await supervision.stop()
    }

    @Test func whatForbidsNothingRuns() async throws {
        let supervision = try await started()
        supervision.apply(machine { ($0.isMetered, $0.isCellular, $0.isOnBattery) = (true, true, true) })
        #expect(try await reaches(.completed, nil, try await add(supervision)))
        await supervision.stop()
    }

    @Test func lowDataModeIsASetting() async throws {
        let supervision = try await started("lowDataMode: true\n")
        let id = try await add(supervision) { $0.allowsConstrainedNetworkAccess = false }
        #expect(try await reaches(.waiting, .metered, id))
        #expect(try await status(id)?.error?.details["condition"] == "lowData")
        #expect(try await reaches(.completed, nil, try await add(supervision)))
        await supervision.stop()
    }

    /// `dlctl resume --anyway` gives the task values of its own.
    @Test func theTaskAndItsSessionChangeWhatIsForbidden() async throws {
        let supervision = try await started()
        supervision.apply(machine { $0.isMetered = true })
        let session = SessionKey(owner: peer.uid, identifier: SessionKey.sharedIdentifier)
        func open(_ allows: Bool) async throws {
            var configuration = SessionConfiguration()
            configuration.allowsExpensiveNetworkAccess = allows
            _ = try await supervision.services.sessions.open(
                session, kind: .background, configuration: configuration, by: peer)
        }
        try await open(false)
        let (anyway, other) = (try await add(supervision), try await add(supervision))
        #expect(try await reaches(.waiting, .metered, anyway))
        #expect(try await reaches(.waiting, .metered, other))
        var change = UpdateTask(id: anyway)
        change.allowsExpensiveNetworkAccess = true
        _ = try await supervision.services.updater.update(change, by: peer)
        #expect(try await reaches(.completed, nil, anyway))
        #expect(try await status(other)?.reason == .metered)
        try await open(true)
        #expect(try await reaches(.completed, nil, other))
        let slow = try await add(supervision, "/slow")
        #expect(await eventually { supervision.runs[slow] != nil })
        change = UpdateTask(id: slow)
        change.allowsExpensiveNetworkAccess = false
        _ = try await supervision.services.updater.update(change, by: peer)
        #expect(try await reaches(.waiting, .metered, slow))
        await supervision.stop()
    }

    /// Nothing is known yet at the next start, and an unknown value forbids nothing.
    @Test func aWaitOfTheLastDaemonEnds() async throws {
        let supervision = try supervision()
        try await supervision.recover()
        let id = try await add(supervision)
        _ = try await fixture.apply(.blocked(.power, nil, nextAttemptAt: nil), to: id)
        try await supervision.start()
        #expect(try await reaches(.completed, nil, id))
        await supervision.stop()
    }

    /// A task that another condition forbids waits with the new reason.
    @Test func theReasonFollowsTheConditions() async throws {
        let supervision = try await started()
        supervision.apply(machine { $0.isBehindPortal = true })
        let id = try await add(supervision) { ($0.allowsCellularAccess, $0.isDiscretionary) = (false, true) }
        #expect(try await reaches(.waiting, .portal, id))
        supervision.apply(machine { $0.isOnBattery = true })
        #expect(try await reaches(.waiting, .power, id))
        supervision.apply(machine { ($0.isOnBattery, $0.isCellular) = (true, true) })
        #expect(try await reaches(.waiting, .metered, id))
        await supervision.stop()
    }

    /// Links take some seconds after a sleep.
    @Test func aTaskThatWaitsForNoConnectivityDoesSoAfterASleep() async throws {
        let supervision = try await started()
        let nobody = "http://127.0.0.1:\(try ListeningSocket.freePort())/"
        let session = SessionKey(owner: peer.uid, identifier: "front")
        _ = try await supervision.services.sessions.open(
            session, kind: .default, configuration: SessionConfiguration(), by: peer)
        func add() async throws -> TaskID {
            try await self.add(supervision, session: session.identifier) { $0.url = nobody }
        }
        await supervision.prepareForSleep()
        supervision.wake()
        let woken = try await add()
        #expect(try await reaches(.waiting, .retry, woken))
        fixture.time.advance(31)
        #expect(try await reaches(.failed, nil, try await add()))
        await supervision.stop()
    }

    @Test func aSessionsNewDeviceIsTakenAtOnce() async throws {
        let supervision = try await started()
        let id = try await add(supervision, "/slow")
        #expect(await eventually { supervision.runs[id].map { $0.bytesTransferred > 20_000 } ?? false })
        var configuration = SessionConfiguration()
        configuration.interface = "lo"
        let session = SessionKey(owner: peer.uid, identifier: SessionKey.sharedIdentifier)
        _ = try await supervision.services.sessions.open(
            session, kind: .background, configuration: configuration, by: peer)
        #expect(await eventually { supervision.runs[id]?.interface == "lo" })
        #expect(try await status(id)?.attempts == 2)
        await supervision.stop()
    }

    /// Others may reach the host that a chosen device does not reach.
    @Test func failuresOfBoundTasksSayNothingOfTheHost() async throws {
        let supervision = try await started()
        let nobody = "http://127.0.0.1:\(try ListeningSocket.freePort())/"
        for interface in ["lo", nil] {
            var host = ""
            for _ in 0..<5 {
                let id = try await add(supervision) {
                    ($0.url, $0.interface, $0.retry) = (nobody, interface, RetryPolicySpec())
                    $0.retry?.attempts = 1
                }
                #expect(try await reaches(.failed, nil, id))
                host = try await fixture.store.read { try $0.task(id)?.host } ?? ""
            }
            #expect((supervision.slots.gates.hold(host: host, owner: peer.uid) != nil) == (interface == nil))
        }
        await supervision.stop()
    }

    @Test func beforeASleepEverythingIsAtItsCheckpointAndNothingBegins() async throws {
        let supervision = try await started()
        let id = try await add(supervision, "/slow")
        #expect(await eventually { supervision.runs[id].map { $0.bytesTransferred > 20_000 } ?? false })
        await supervision.prepareForSleep()
        #expect(supervision.runs.count == 0)
        let asleep = try #require(try await fixture.store.read { try $0.task(id) })
        #expect(asleep.status.state == .queued && (asleep.checkpoint?.offset.rawValue ?? 0) > 0)
        let failed = try await add(supervision)
        _ = try await fixture.apply(
            .blocked(
                .retry, TransferError(.networkConnect, ""),
                nextAttemptAt: fixture.time.reading().wall.advanced(by: 3600)
            ), to: failed)
        await supervision.dispatcher.fillSlots()
        #expect(supervision.runs.count == 0)
        origin.serve("/slow", .good(.version(1, size: 4_000_000)))
        supervision.wake()
        #expect(try await reaches(.completed, nil, id))
        #expect(try await reaches(.completed, nil, failed))
        #expect(await eventually { supervision.runs.count == 0 })
        #expect(told.withLock { $0.first == true && $0.last == false && zip($0, $0.dropFirst()).allSatisfy(!=) })
        await supervision.stop()
    }
}
