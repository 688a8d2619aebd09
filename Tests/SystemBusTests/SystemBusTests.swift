import TestSupport
import Testing
import TransferCore

@testable import SystemBus

/// A bus of its own for each test, with services that a test controls.
@Suite(.enabled(if: Requirements.hasMachineBus, "dbus-daemon, python3-dbus and python3-gi are not installed"))
struct SystemBusTests {
    let machine: MachineBus
    let witness = Witness()

    init() async throws { machine = try await .started() }

    private func watching(_ services: String...) async throws -> Watching {
        for service in services { try await machine.say("own \(service)") }
        let bus = SystemBus(address: machine.address, logger: witness.logger)
        await bus.start(telling: witness.observer(machine))
        return Watching(bus)
    }

    /// Ends the thread with the test.
    private final class Watching: Sendable {
        let bus: SystemBus
        init(_ bus: SystemBus) { self.bus = bus }
        deinit { bus.stop() }
    }

    // MARK: Conditions

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("network Metered u", "1", "2", \MachineConditions.isMetered),
            ("network Metered u", "3", "4", \.isMetered),
            ("network Connectivity u", "2", "4", \.isBehindPortal),
            ("network PrimaryConnectionType s", "gsm", "802-11-wireless", \.isCellular),
            ("power OnBattery b", "true", "false", \.isOnBattery),
        ] as [(String, String, String, KeyPath<MachineConditions, Bool?> & Sendable)])
    func aPropertyAndItsChangesAreTold(
        property: String, yes: String, no: String, path: KeyPath<MachineConditions, Bool?> & Sendable
    ) async throws {
        try await machine.say("set \(property) \(yes)")
        let watching = try await watching("network", "power")
        // Known when the start is over.
        #expect(witness.conditions[keyPath: path] == true)
        try await machine.say("set \(property) \(no)")
        #expect(await witness.sees { $0[keyPath: path] == false })
        try await machine.say("set \(property) \(yes)")
        #expect(await witness.sees { $0[keyPath: path] == true })
        withExtendedLifetime(watching) {}
    }

    @Test(.timeLimit(.minutes(1))) func theLastOfManyFlipsCounts() async throws {
        let watching = try await watching("network")
        for round in 0..<20 {
            for value in [1, 2] { try await machine.say("set network Metered u \(value)") }
            if round == 10 { #expect(await witness.sees { $0.isMetered == false }) }
        }
        #expect(await witness.sees { $0.isMetered == false })
        // Only changes are told.
        #expect(zip(witness.history, witness.history.dropFirst()).allSatisfy { $0 != $1 })
        withExtendedLifetime(watching) {}
    }

    @Test(.timeLimit(.minutes(1))) func aServiceThatIsAbsentIsUnknownAndIsNotStarted() async throws {
        let watching = try await watching()
        #expect(witness.history.isEmpty)
        watching.bus.keepAwake(true)
        try await machine.say("set network Metered u 1")
        try await machine.say("own network")
        #expect(await witness.sees { $0.isMetered == true })
        try await machine.say("drop network")
        #expect(await witness.sees { $0.isMetered == nil })
        try await machine.say("quietly set network Metered u 2")
        try await machine.say("own network")
        #expect(await witness.sees { $0.isMetered == false })
        #expect(!machine.hasStartedService)
    }

    @Test(.timeLimit(.minutes(1))) func theBusMayDieAndReturn() async throws {
        try await machine.say("set network Metered u 1")
        let watching = try await watching("network", "login")
        #expect(await machine.hears("Inhibit"))
        try await machine.kill()
        #expect(await witness.sees { $0 == MachineConditions() })
        try await machine.start()
        try await machine.say("set power OnBattery b true")
        for service in ["power", "login"] { try await machine.say("own \(service)") }
        #expect(await witness.sees { $0.isOnBattery == true && $0.isMetered == nil })
        #expect(await machine.hears("Inhibit", times: 2))
        withExtendedLifetime(watching) {}
    }

    @Test(.timeLimit(.minutes(1))) func withoutABusThereIsOneLineInTheLog() async throws {
        try await machine.kill()
        let watching = try await watching()
        #expect(witness.lines.count == 1 && witness.lines[0].hasPrefix("debug: there is no system bus"))
        try await machine.start()
        try await machine.say("set power OnBattery b true")
        try await machine.say("own power")
        #expect(await witness.sees { $0.isOnBattery == true })
        #expect(witness.lines.count == 2 && witness.lines[1].hasPrefix("debug: "), "\(witness.lines)")
        withExtendedLifetime(watching) {}
    }

    // MARK: Services that misbehave

    @Test(.timeLimit(.minutes(1)), arguments: ["badly", "wrongly"])
    func nonsenseIsUnknown(how: String) async throws {
        try await machine.say("set network Metered u 1")
        let watching = try await watching("network")
        try await machine.say("answers network \(how)")
        try await machine.say("set network Metered u 2")
        #expect(await witness.sees { $0.isMetered == nil })
        try await machine.say("answers network well")
        try await machine.say("set network Metered u 2")
        #expect(await witness.sees { $0.isMetered == false })
        withExtendedLifetime(watching) {}
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["s yes", "i 1", "as x", "u 77"])
    func aPropertyOfAnotherTypeHarmsNoOther(value: String) async throws {
        try await machine.say("set network Metered u 1")
        try await machine.say("set network PrimaryConnectionType s gsm")
        let watching = try await watching("network")
        try await machine.say("set network Metered \(value)")
        #expect(await witness.sees { $0.isMetered == nil && $0.isCellular == true })
        withExtendedLifetime(watching) {}
    }

    @Test(.timeLimit(.minutes(1))) func aServiceThatNeverAnswersHoldsUpNoOther() async throws {
        for service in ["network", "login"] { try await machine.say("answers \(service) never") }
        let watching = try await watching("network", "power", "login")
        try await machine.say("set power OnBattery b true")
        #expect(await witness.sees { $0.isOnBattery == true && $0.isMetered == nil })
        try await machine.say("emit login PrepareForSleep b true")
        #expect(await witness.sees(["sleep", "stored"]))
        withExtendedLifetime(watching) {}
    }

    @Test(.timeLimit(.minutes(2))) func aFloodOfSignalsIsAFewQuestions() async throws {
        try await machine.say("set network Metered u 1")
        let watching = try await watching("network")
        let begin = ContinuousClock.now
        try await machine.say("flood network 20000")
        try await machine.say("set network Metered u 2")
        #expect(await witness.sees { $0.isMetered == false })
        // At most ten a second, however long it took.
        let most = 10 * (begin.duration(to: .now) / .seconds(1)) + 5
        #expect(Double(machine.count { $0.hasPrefix("GetAll network") }) <= most)
        withExtendedLifetime(watching) {}
    }

    // MARK: Sleep

    @Test(.timeLimit(.minutes(1))) func theMachineSleepsWhenTransfersAreStored() async throws {
        witness.mayFinish(false)
        let watching = try await watching("login")
        #expect(await machine.hears("Inhibit login sleep dld"))
        for round in 1...2 {
            try await machine.say("emit login PrepareForSleep b true")
            #expect(await eventually { witness.steps.last == "sleep" })
            #expect(try await machine.locks() == ["sleep delay"])
            witness.mayFinish(true)
            #expect(await machine.hears("released sleep delay", times: round))
            #expect(try await machine.locks() == [])
            witness.mayFinish(false)
            try await machine.say("emit login PrepareForSleep b false")
            #expect(await machine.hears("Inhibit login sleep dld", times: round + 1))
            #expect(witness.steps == Array(repeating: ["sleep", "stored", "wake"], count: round).flatMap { $0 })
        }
        watching.bus.stop()
        #expect(await machine.hears("released sleep delay", times: 3))
    }

    /// logind does not wait longer than its `InhibitDelayMaxSec`.
    @Test(.timeLimit(.minutes(1))) func aSleepThatDidNotWaitIsOverAfterIt() async throws {
        witness.mayFinish(false)
        let watching = try await watching("login")
        for value in ["true", "false", "true", "false"] {
            try await machine.say("emit login PrepareForSleep b \(value)")
        }
        #expect(await witness.sees(["sleep"]))
        witness.mayFinish(true)
        #expect(await witness.sees(["sleep", "stored", "wake"]))
        #expect(await machine.hears("Inhibit login sleep dld", times: 2))
        withExtendedLifetime(watching) {}
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func aSleepIsOverIfLogindOrTheBusIsGone(isLogind: Bool) async throws {
        let watching = try await watching("login")
        try await machine.say("emit login PrepareForSleep b true")
        #expect(await witness.sees(["sleep", "stored"]))
        if isLogind { try await machine.say("drop login") } else { try await machine.kill() }
        #expect(await witness.sees(["sleep", "stored", "wake"]))
        withExtendedLifetime(watching) {}
    }

    /// On a system bus, every local user may send a signal to one connection.
    @Test(.timeLimit(.minutes(1))) func onlyLogindAnnouncesSleep() async throws {
        let watching = try await watching("login", "network")
        #expect(await machine.hears("Inhibit"))
        let name = try #require(machine.lines.last { $0.hasPrefix("Inhibit") }?.split(separator: " ").last)
        try await machine.say("unicast \(name) login PrepareForSleep b true")
        try await machine.say("emit login PrepareForSleep s true")
        try await machine.say("emit login PrepareForSleep b false")
        try await machine.say("set network Metered u 1")
        #expect(await witness.sees { $0.isMetered == true })
        #expect(witness.steps.isEmpty)
        try await machine.say("unicast \(name) network StateChanged u 70")
        try await machine.say("emit login PrepareForSleep b true")
        #expect(await witness.sees(["sleep", "stored"]))
        withExtendedLifetime(watching) {}
    }

    // MARK: Locks

    @Test(.timeLimit(.minutes(1))) func theMachineIsKeptAwakeWhileWanted() async throws {
        let watching = try await watching("login")
        watching.bus.keepAwake(true)
        #expect(await machine.hears("Inhibit login idle:sleep dld dld transfers files block"))
        // Another logind knows nothing of the lock.
        try await machine.say("drop login")
        #expect(await machine.hears("released idle:sleep block"))
        try await machine.say("own login")
        #expect(await machine.hears("Inhibit login idle:sleep", times: 2))
        watching.bus.keepAwake(false)
        #expect(await machine.hears("released idle:sleep block", times: 2))
        #expect(try await machine.locks() == ["sleep delay"])
    }

    @Test(.timeLimit(.minutes(1))) func aRefusedLockIsLoggedOnce() async throws {
        try await machine.say("answers login wrongly")
        let watching = try await watching("login")
        for times in 2...3 {
            for word in ["drop", "own"] { try await machine.say("\(word) login") }
            #expect(await machine.hears("Inhibit login sleep", times: times))
        }
        try await machine.say("answers login well")
        for word in ["drop", "own"] { try await machine.say("\(word) login") }
        #expect(await machine.hears("Inhibit login sleep", times: 4))
        #expect(witness.lines.count { $0 == "info: logind gives no lock" } == 1, "\(witness.lines)")
        withExtendedLifetime(watching) {}
    }
}
