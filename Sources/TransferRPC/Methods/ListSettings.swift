import TransferModel

/// How a changed value of a setting takes effect.
public enum SettingEffect: String, Codable, Sendable, CaseIterable {
    /// `settings.set` changes it at once; a changed file needs a reload.
    case runtime
    /// A reload (SIGHUP).
    case reload
    case restart
}

/// The value of a setting in one source.
public struct SettingStatementView: WireObject, Hashable {
    public var text: String
    public var origin: SettingSource
    public var place: String?

    public init(text: String, origin: SettingSource, place: String? = nil) {
        self.text = text
        self.origin = origin
        self.place = place
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case text, origin, place
    }

    public static let wireName = "SettingStatement"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .text:
            .required(
                .string, "The value as a configuration file writes it, or words if it follows from something else.")
        case .origin: .required(.oneOf(SettingSource.self), "Kind of its source.")
        case .place:
            .optional(
                .string,
                "Its source: `FILE:LINE`, the environment variable, the command-line option, or `settings.set`.")
        }
    }
}

/// One setting of the daemon that is in force.
public struct ListedSetting: WireObject, Hashable {
    public var name: String
    public var value: JSONValue
    public var text: String
    public var unit: String?
    public var origin: SettingSource
    public var place: String?
    public var `default`: String
    public var effect: SettingEffect
    public var overruled: [SettingStatementView]?
    public var pending: SettingStatementView?

    public init(
        name: String, value: JSONValue, text: String, unit: String? = nil, origin: SettingSource, place: String?,
        default: String, effect: SettingEffect, overruled: [SettingStatementView]?, pending: SettingStatementView?
    ) {
        self.name = name
        self.value = value
        self.text = text
        self.unit = unit
        self.origin = origin
        self.place = place
        self.default = `default`
        self.effect = effect
        self.overruled = overruled
        self.pending = pending
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case name, value, text, unit, origin, place, `default`, effect, overruled, pending
    }

    public static let wireName = "ListedSetting"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .name:
            .required(.string, "As in a configuration file, with sections before dots: `session.retry.attempts`.")
        case .value:
            .required(
                .any,
                "The value in force, without secrets; null if nothing is set, and `text` says in words what holds.")
        case .text, .origin, .place: SettingStatementView.field(key.inStatement)
        case .unit: .optional(.string, "Unit of `value`: `bytes`, `bytes per second` or `seconds`.")
        case .default: .required(.string, "The default, as a configuration file writes it, or in words.")
        case .effect:
            .required(
                .oneOf(SettingEffect.self),
                "How a change takes effect: by `settings.set`, a reload of the files, or a restart. A reload also changes what "
                    + "`settings.set` can change.")
        case .overruled:
            .optional(
                .list(.object(SettingStatementView.self)), "Values of weaker sources, the strongest first.")
        case .pending:
            .optional(
                .object(SettingStatementView.self),
                "The value in changed files that is not in force yet: it needs a reload, or a restart if `effect` says so."
            )
        }
    }
}

extension ListedSetting.CodingKeys {
    fileprivate var inStatement: SettingStatementView.CodingKeys {
        switch self {
        case .origin: .origin
        case .place: .place
        case .name, .value, .text, .unit, .default, .effect, .overruled, .pending: .text
        }
    }
}

public enum ListSettings: RPCMethod {
    public typealias Parameters = Nothing
    public static let name = "settings.list"
    public static let summary =
        "Every setting in force and its source, including those that only files, environment and command line can set."
    public static let errors: [ErrorCode] = []

    public struct Result: WireObject, Hashable {
        public var settings: [ListedSetting]
        public var files: [String]
        public var problem: String?

        public init(settings: [ListedSetting], files: [String], problem: String?) {
            self.settings = settings
            self.files = files
            self.problem = problem
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case settings, files, problem
        }

        public static let wireName = "SettingsInForce"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .settings:
                .required(.list(.object(ListedSetting.self)), "In the order of docs/configuration.md.")
            case .files: .required(.list(.string), "Configuration files in use, the strongest first.")
            case .problem:
                .optional(.string, "Why the changed files would be refused; one line per mistake.")
            }
        }
    }
}
