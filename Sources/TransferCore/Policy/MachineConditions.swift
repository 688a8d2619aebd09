import TransferModel

/// What the services of the machine say about its network and its power. nil is unknown, and an unknown value forbids
/// nothing.
package struct MachineConditions: Hashable, Sendable {
    /// NetworkManager's `Metered` is yes or guess-yes.
    package var isMetered: Bool?
    /// NetworkManager's `PrimaryConnectionType` is gsm or cdma.
    package var isCellular: Bool?
    /// NetworkManager's `Connectivity` is portal.
    package var isBehindPortal: Bool?
    /// UPower's `OnBattery`.
    package var isOnBattery: Bool?

    package init() {}
}

/// Which conditions of the machine a task waits out: its own settings, else its session's, else the defaults.
package struct MachineRules: Hashable, Sendable {
    package var allowsExpensive: Bool
    package var allowsCellular: Bool
    package var allowsConstrained: Bool
    package var isDiscretionary: Bool
    package var waitsForConnectivity: Bool
    private let url: String?

    package init(_ spec: TaskSpec, _ session: SessionConfiguration, _ kind: SessionKind) {
        allowsExpensive = spec.allowsExpensiveNetworkAccess ?? session.allowsExpensiveNetworkAccess ?? true
        allowsCellular = spec.allowsCellularAccess ?? session.allowsCellularAccess ?? true
        allowsConstrained = spec.allowsConstrainedNetworkAccess ?? session.allowsConstrainedNetworkAccess ?? true
        isDiscretionary = spec.isDiscretionary ?? session.isDiscretionary ?? false
        url = spec.url
        waitsForConnectivity = kind.waitsForConnectivity(spec.waitsForConnectivity ?? session.waitsForConnectivity)
    }

    /// - Parameter lowDataMode: the global setting.
    /// - Returns: what forbids the task to run now; nil if nothing does.
    package func hindrance(
        in machine: MachineConditions, lowDataMode: @autoclosure () -> Bool
    ) -> MachineHindrance? {
        let ofNetwork: MachineHindrance? =
            if machine.isBehindPortal == true {
                .portal
            } else if machine.isMetered == true, !allowsExpensive {
                .metered
            } else if machine.isCellular == true, !allowsCellular {
                .cellular
            } else if !allowsConstrained, lowDataMode() {
                .lowData
            } else if machine.isMetered == true, isDiscretionary {
                .discretionaryMetered
            } else {
                nil
            }
        if let ofNetwork, URLRules.usesNetwork(url ?? "") { return ofNetwork }
        return machine.isOnBattery == true && isDiscretionary ? .battery : nil
    }

    /// - Returns: what happens to a queued or running task now; nil if it may run. A login page counts as no network, so
    ///   that a running task fails that does not wait for one.
    package func event(in machine: MachineConditions, lowDataMode: @autoclosure () -> Bool) -> TaskEvent? {
        guard let hindrance = hindrance(in: machine, lowDataMode: lowDataMode()) else { return nil }
        guard hindrance != .portal || waitsForConnectivity else {
            let failure = AttemptFailure(error: hindrance.error, disposition: .permanent)
            return .attemptFailed(failure, RetryPolicy(), jitter: 0)
        }
        return .blocked(hindrance.reason, hindrance.error, nextAttemptAt: nil)
    }
}

/// A condition of the machine that a task waits out.
package enum MachineHindrance: String, Hashable, Sendable {
    case portal, metered, cellular, lowData, battery
    /// Metered, for a discretionary task.
    case discretionaryMetered

    /// The member of an error's `details` that names the condition.
    package static let member = "condition"

    package var reason: WaitReason {
        switch self {
        case .portal: .portal
        case .metered, .cellular, .lowData: .metered
        case .battery, .discretionaryMetered: .power
        }
    }

    /// What the task waits with; `details` names the condition.
    package var error: TransferError {
        let condition = self == .discretionaryMetered ? Self.metered : self
        return TransferError(
            self == .portal ? .networkLost : .conditionsRefused, sentence,
            details: [Self.member: .string(condition.rawValue)])
    }

    private var sentence: String {
        switch self {
        case .portal: "The network shows a login page (a captive portal); log in with a browser."
        case .metered: "The network is metered, and allowsExpensiveNetworkAccess forbids that."
        case .cellular: "The network is cellular, and allowsCellularAccess forbids that."
        case .lowData: "lowDataMode is set, and allowsConstrainedNetworkAccess forbids that."
        case .battery: "The machine runs on battery, and isDiscretionary is true."
        case .discretionaryMetered: "The network is metered, and isDiscretionary is true."
        }
    }
}

extension WaitReason {
    /// The task waits until the machine's network or power is another one.
    package var isOfMachine: Bool { Self.ofMachine.contains(self) }

    package static let ofMachine: [WaitReason] = [.metered, .power, .portal]
}
