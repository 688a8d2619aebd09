import TransferModel

/// How a changed value of a setting takes effect.
public enum SettingEffect: String, Word {
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

    public static let shape = Shape("SettingStatement", Self(text: "", origin: .default)) { row in
        row("text", \.text, "The value as a configuration file writes it, or words if it follows from something else.")
        row("origin", \.origin, "Kind of its source.")
        row(
            "place", \.place,
            "Its source: `FILE:LINE`, the environment variable, the command-line option, or `settings.set`.")
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

    public static let shape = Shape(
        "ListedSetting",
        Self(
            name: "", value: .null, text: "", origin: .default, place: nil, default: "", effect: .runtime,
            overruled: nil, pending: nil)
    ) { row in
        row("name", \.name, "As in a configuration file, with sections before dots: `session.retry.attempts`.")
        row(
            "value", \.value,
            "The value in force, without secrets; null if nothing is set, and `text` says in words what holds.")
        row("text", \.text, SettingStatementView.text("text"))
        row("unit", \.unit, "Unit of `value`: `bytes`, `bytes per second` or `seconds`.")
        row("origin", \.origin, SettingStatementView.text("origin"))
        row("place", \.place, SettingStatementView.text("place"))
        row(
            "defaultText", \.default, "The default, as a configuration file writes it, or in words.", was: "default")
        row(
            "effect", \.effect,
            "How a change takes effect: by `settings.set`, a reload of the files, or a restart. A reload also changes what "
                + "`settings.set` can change.")
        row("overruled", \.overruled, "Values of weaker sources, the strongest first.")
        row(
            "pending", \.pending,
            "The value in changed files that is not in force yet: it needs a reload, or a restart if `effect` says so.")
    }
}

public struct SettingsInForce: WireObject, Hashable {
    public var settings: [ListedSetting]
    public var files: [String]
    public var problem: String?

    public init(settings: [ListedSetting], files: [String], problem: String?) {
        self.settings = settings
        self.files = files
        self.problem = problem
    }

    public static let shape = Shape("SettingsInForce", Self(settings: [], files: [], problem: nil)) { row in
        row("settings", \.settings, "In the order of docs/configuration.md.")
        row("files", \.files, "Configuration files in use, the strongest first.")
        row("problem", \.problem, "Why the changed files would be refused; one line per mistake.")
    }
}
