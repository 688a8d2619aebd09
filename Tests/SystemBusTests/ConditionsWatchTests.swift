import Testing
import TransferCore

@testable import SystemBus

/// What the numbers and words of NetworkManager and UPower mean.
@Suite struct ConditionsWatchTests {
    private func conditions(_ key: String, _ value: BusValue) -> MachineConditions {
        MachineConditions(network: [key: value], power: [key: value])
    }

    @Test func nothingSaidIsNothingKnown() {
        #expect(MachineConditions(network: [:], power: [:]) == MachineConditions())
    }

    /// NMMetered: unknown, yes, no, guess-yes, guess-no.
    @Test(arguments: zip(0...5, [nil, true, false, true, false, nil] as [Bool?]))
    func metered(number: UInt32, isMetered: Bool?) {
        #expect(conditions("Metered", .number(number)).isMetered == isMetered)
    }

    /// NMConnectivityState: unknown, none, portal, limited, full.
    @Test(arguments: zip(0...5, [nil, false, true, false, false, nil] as [Bool?]))
    func portal(number: UInt32, isBehindPortal: Bool?) {
        #expect(conditions("Connectivity", .number(number)).isBehindPortal == isBehindPortal)
    }

    @Test(
        arguments: zip(
            ["gsm", "cdma", "802-3-ethernet", "802-11-wireless", ""], [true, true, false, false, nil] as [Bool?]))
    func cellular(type: String, isCellular: Bool?) {
        #expect(conditions("PrimaryConnectionType", .text(type)).isCellular == isCellular)
    }

    @Test(arguments: [true, false]) func battery(isOnBattery: Bool) {
        #expect(conditions("OnBattery", .flag(isOnBattery)).isOnBattery == isOnBattery)
    }

    @Test(arguments: ["Metered", "Connectivity", "PrimaryConnectionType", "OnBattery"])
    func anotherTypeIsUnknown(key: String) {
        let known: [BusValue] = [.flag(true), .number(1), .number(2), .text("gsm")]
        // Each property has one type, of which at least one of the values above is another.
        let isKnown = known.map { conditions(key, $0) != MachineConditions() }
        let numbers = ["Metered", "Connectivity"].contains(key)
        #expect(isKnown == [key == "OnBattery", numbers, numbers, key == "PrimaryConnectionType"])
    }
}
