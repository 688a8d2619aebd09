import Testing
import TransferModel

@testable import TransferCore

struct MachineConditionsTests {
    private static let unknowable = [nil, true, false] as [Bool?]

    /// Every state of the services, also unknown ones.
    private static let machines: [MachineConditions] = unknowable.flatMap { metered in
        unknowable.flatMap { cellular in
            unknowable.flatMap { portal in
                unknowable.map { battery in
                    var machine = MachineConditions()
                    (machine.isMetered, machine.isCellular) = (metered, cellular)
                    (machine.isBehindPortal, machine.isOnBattery) = (portal, battery)
                    return machine
                }
            }
        }
    }

    /// Every task that states all its settings; `bits` numbers them.
    private static func rules(_ bits: Int, url: String = "https://h/f") -> MachineRules {
        var spec = TaskSpec()
        spec.url = url
        spec.allowsExpensiveNetworkAccess = bits & 1 != 0
        spec.allowsCellularAccess = bits & 2 != 0
        spec.allowsConstrainedNetworkAccess = bits & 4 != 0
        spec.isDiscretionary = bits & 8 != 0
        return MachineRules(spec, SessionConfiguration(), .background)
    }

    @Test(arguments: [false, true], 0..<16) func theTableHolds(lowDataMode: Bool, bits: Int) {
        let rules = Self.rules(bits)
        for machine in Self.machines {
            var expected: (reason: WaitReason, condition: String)?
            if bits & 8 != 0, machine.isOnBattery == true { expected = (.power, "battery") }
            if bits & 8 != 0, machine.isMetered == true { expected = (.power, "metered") }
            if bits & 4 == 0, lowDataMode { expected = (.metered, "lowData") }
            if bits & 2 == 0, machine.isCellular == true { expected = (.metered, "cellular") }
            if bits & 1 == 0, machine.isMetered == true { expected = (.metered, "metered") }
            if machine.isBehindPortal == true { expected = (.portal, "portal") }
            let found = rules.hindrance(in: machine, lowDataMode: lowDataMode)
            #expect(found?.reason == expected?.reason, "\(machine)")
            #expect(found?.error.details["condition"]?.stringValue == expected?.condition, "\(machine)")
        }
    }

    /// What is unknown forbids nothing, and neither does a network or power without a fault.
    @Test func onlyWhatIsCertainForbids() {
        for bits in 0..<16 {
            for machine in Self.machines
            where ![
                machine.isMetered, machine.isCellular, machine.isBehindPortal, machine.isOnBattery,
            ].contains(true) {
                #expect(Self.rules(bits).hindrance(in: machine, lowDataMode: false) == nil)
            }
        }
    }

    @Test(arguments: ["file:///a", "data:,a", "FILE:///a"]) func whatUsesNoNetworkMindsOnlyTheBattery(url: String) {
        for bits in 0..<16 {
            for machine in Self.machines {
                let found = Self.rules(bits, url: url).hindrance(in: machine, lowDataMode: true)
                #expect(found == (bits & 8 != 0 && machine.isOnBattery == true ? .battery : nil))
            }
        }
    }

    @Test(arguments: unknowable, unknowable) func theTaskWinsOverItsSession(task: Bool?, session: Bool?) {
        var (spec, configuration) = (TaskSpec(), SessionConfiguration())
        spec.allowsExpensiveNetworkAccess = task
        spec.allowsCellularAccess = task
        spec.allowsConstrainedNetworkAccess = task
        spec.isDiscretionary = task
        configuration.allowsExpensiveNetworkAccess = session
        configuration.allowsCellularAccess = session
        configuration.allowsConstrainedNetworkAccess = session
        configuration.isDiscretionary = session
        let rules = MachineRules(spec, configuration, .background)
        let allows = task ?? session ?? true
        #expect([rules.allowsExpensive, rules.allowsCellular, rules.allowsConstrained] == [allows, allows, allows])
        #expect(rules.isDiscretionary == task ?? session ?? false)
    }

    /// A login page is no network: tasks that do not wait for one fail, like those without a route.
    @Test(arguments: [SessionKind.background, .default, .ephemeral], unknowable)
    func aTaskThatDoesNotWaitForANetworkFailsAtAPortal(kind: SessionKind, waits: Bool?) {
        var (spec, machine) = (TaskSpec(), MachineConditions())
        spec.waitsForConnectivity = waits
        spec.allowsExpensiveNetworkAccess = false
        (machine.isBehindPortal, machine.isMetered) = (true, true)
        let rules = MachineRules(spec, SessionConfiguration(), kind)
        switch rules.event(in: machine, lowDataMode: false) {
        case .blocked(.portal, let error, nil)?:
            #expect(kind == .background || waits == true)
            #expect(error?.code == .networkLost)
        case .attemptFailed(let failure, _, _)?:
            #expect(kind != .background && waits != true)
            #expect(failure.disposition == .permanent && failure.error.code == .networkLost)
        default: Issue.record("it runs")
        }
        machine.isBehindPortal = nil
        guard case .blocked(.metered, let error, nil)? = rules.event(in: machine, lowDataMode: false) else {
            Issue.record("it runs on a metered network")
            return
        }
        #expect(error?.code == .conditionsRefused && error?.retryable == true)
    }
}
