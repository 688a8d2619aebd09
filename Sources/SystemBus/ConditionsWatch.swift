import TransferCore

/// What NetworkManager and UPower say, told whenever it has changed.
final class ConditionsWatch {
    private let network: PropertyWatch
    private let power: PropertyWatch
    private var told = MachineConditions()
    private let tell: (MachineConditions) -> Void

    init(tell: @escaping (MachineConditions) -> Void) {
        self.tell = tell
        network = PropertyWatch("org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager")
        power = PropertyWatch("org.freedesktop.UPower", "/org/freedesktop/UPower")
        for watch in [network, power] { watch.changed = { [unowned self] in compare() } }
    }

    func watch(on connection: BusConnection) { for watch in [network, power] { watch.watch(on: connection) } }
    func leave() { for watch in [network, power] { watch.leave() } }
    func ask(_ now: Int64) { for watch in [network, power] { watch.ask(now) } }
    /// When `ask` has something to do, in nanoseconds of the monotonic clock.
    var next: Int64? { [network.next, power.next].compactMap { $0 }.min() }
    var isSettled: Bool { network.isSettled && power.isSettled }

    private func compare() {
        let conditions = MachineConditions(network: network.values, power: power.values)
        guard conditions != told else { return }
        told = conditions
        tell(conditions)
    }
}

extension MachineConditions {
    /// From properties of `org.freedesktop.NetworkManager` (NMMetered, NMConnectivityState) and of
    /// `org.freedesktop.UPower`. A value that their documents do not have is unknown.
    init(network: [String: BusValue], power: [String: BusValue]) {
        self.init()
        isMetered = network["Metered"]?.number.flatMap { [1: true, 3: true, 2: false, 4: false][$0] }
        isBehindPortal = network["Connectivity"]?.number.flatMap { [2: true, 1: false, 3: false, 4: false][$0] }
        let type = network["PrimaryConnectionType"]?.text
        isCellular = type.flatMap { $0.isEmpty ? nil : ["gsm", "cdma"].contains($0) }
        isOnBattery = power["OnBattery"]?.flag
    }
}
