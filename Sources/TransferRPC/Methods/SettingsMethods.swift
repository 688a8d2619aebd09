import TransferModel

/// The source of a setting's value, as clients see it.
public enum SettingSource: String, Word {
    case `default`, file, runtime, environment, flag

    public init(_ origin: SettingOrigin) {
        switch origin {
        case .default: self = .default
        case .systemFile, .userFile: self = .file
        case .runtime: self = .runtime
        case .environment: self = .environment
        case .flag: self = .flag
        }
    }
}

/// One global setting in force.
public struct SettingView: WireObject, Hashable {
    public var value: JSONValue
    public var origin: SettingSource

    public init(value: JSONValue, origin: SettingSource) {
        self.value = value
        self.origin = origin
    }

    public static let shape = Shape("Setting", Self(value: .null, origin: .default)) { row in
        row("value", \.value, "The value in force.")
        row("origin", \.origin, "Where it comes from.")
    }
}

/// Every global setting by name.
public struct SettingsView: WireObject, Hashable {
    public var settings: [SettingName: SettingView]

    public init(_ settings: [SettingName: SettingView]) { self.settings = settings }

    public subscript(name: SettingName) -> SettingView? {
        get { settings[name] }
        set { settings[name] = newValue }
    }

    public static let shape = Shape("Settings", Self([:])) { row in
        for name in SettingName.allCases { row(name.rawValue, \.[name], name.documentation, isRequired: true) }
    }
}

extension SettingName {
    var valueType: WireType {
        switch self {
        case .maximumConcurrentTasks, .maximumConcurrentTasksPerHost, .maximumConcurrentTasksPerUser,
            .maximumQueuedTasksPerUser, .eventRetentionCount:
            .integer
        case .downloadRateLimit, .uploadRateLimit: .byteRate
        case .minimumFreeSpace: .byteCount
        case .historyRetention, .eventRetention, .progressInterval, .diskPollInterval: .seconds
        case .credentialHelper: .string
        case .lowDataMode, .keepsAwake: .boolean
        }
    }

    /// Description with unit and default.
    public var documentation: String {
        switch self {
        case .maximumConcurrentTasks: "Tasks that run at the same time; 32."
        case .maximumConcurrentTasksPerHost: "Tasks that run at the same time on one host, across all sessions; 6."
        case .maximumConcurrentTasksPerUser: "Tasks of one user that run at the same time, 0 = no limit; 0."
        case .maximumQueuedTasksPerUser:
            "Tasks of one user that have not ended (queued, running, waiting or paused), 0 = no limit; 0."
        case .downloadRateLimit: "Bytes per second of all downloads together, 0 = unlimited; 0."
        case .uploadRateLimit:
            "Bytes per second of all uploads together, 0 = unlimited; 0."
        case .minimumFreeSpace:
            "Bytes that must be free, plus 1 MiB, on a destination's file system when a download begins; 0."
        case .historyRetention: "Seconds that an ended task is kept, 0 = for ever; 30 days."
        case .eventRetention: "Seconds that an event is kept, 0 = until `eventRetentionCount` removes it; 30 days."
        case .eventRetentionCount:
            "Events that are kept, of all users together, 0 = no limit; the oldest events of the user with the most are removed first; 1000000."
        case .progressInterval:
            "Seconds between two progress events of a task, unless a subscriber sets its own, "
                + "\(Bounds.words(Bounds.progressInterval)); 0.5."
        case .diskPollInterval: "Seconds between two checks of a disk that tasks wait for; 2."
        case .credentialHelper:
            "Program, with arguments between spaces, that speaks git's credential protocol; none. The system daemon refuses it."
        case .lowDataMode: "True: tasks without `allowsConstrainedNetworkAccess` wait (`metered`); false."
        case .keepsAwake: "True: the machine is kept from falling asleep by itself while transfers run; false."
        }
    }
}

public struct SetSettings: WireObject, Hashable {
    /// `.null` removes the run-time value.
    public var values: [SettingName: JSONValue]

    public init(_ values: [SettingName: JSONValue]) { self.values = values }

    subscript(name: SettingName) -> JSONValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    public static let shape = Shape("SetSettings", Self([:])) { row in
        for name in SettingName.allCases {
            row(name.rawValue, \.[name], name.documentation, as: .either([name.valueType, .null]))
        }
    }

    public init(json node: JSONNode) throws(TransferError) {
        self = try Self.shape.read(node)
        for name in SettingName.allCases where node.isNull(name.rawValue) { values[name] = .null }
    }
}
