import TransferModel

/// One row of `SettingsTable`: the name of a setting, its check, its documentation and its place in `DaemonSettings`.
package struct Setting: Sendable {
    /// When a changed value takes effect.
    package enum Effect: Sendable {
        /// At once, also for running transfers; if a file was edited, on reload.
        case reload
        case restart
    }

    /// The name as in the file, with dots between sections: `session.retry.attempts`.
    package let name: String
    package let kind: SettingKind
    package let documentation: String
    /// A value as in the file; never the default.
    package let example: String
    /// Describes the default if it is not a fixed value.
    package let defaultText: String?
    package let effect: Effect
    /// False if the value in /etc applies only to the system daemon.
    package let sharedFileHoldsForUsers: Bool
    /// Whether the value in /etc takes precedence in a user's daemon over everything that the user sets.
    package let sharedFileBindsUsers: Bool
    /// The name in `settings.set`; nil if only files, environment and flags can set it.
    package let runtimeName: SettingName?

    package let read: @Sendable (DaemonSettings) -> JSONValue
    let write: @Sendable (JSONValue, inout DaemonSettings) -> Void

    /// `DLD_MAXIMUM_CONCURRENT_TASKS` of `maximumConcurrentTasks`.
    package var environmentName: String {
        var text = "DLD_"
        for character in name {
            if character == "." {
                text += "_"
            } else {
                if character.isUppercase { text += "_" }
                text += character.uppercased()
            }
        }
        return text
    }

    /// The default as a file would write it, or in words.
    package var defaultDescription: String {
        let value = read(DaemonSettings())
        return value == .null ? (defaultText ?? "not set") : kind.text(of: value)
    }
}

extension Setting {
    /// The place of a setting's value in `DaemonSettings`, and its conversion to JSON and back.
    struct Column: Sendable {
        package let read: @Sendable (DaemonSettings) -> JSONValue
        let write: @Sendable (JSONValue, inout DaemonSettings) -> Void
    }

    init(
        _ name: String, _ kind: SettingKind, _ column: Column, example: String, effect: Effect = .reload,
        default defaultText: String? = nil, sharedFileHoldsForUsers: Bool = true, sharedFileBindsUsers: Bool = false,
        runtime: SettingName? = nil,
        _ documentation: String
    ) {
        self.name = name
        self.kind = kind
        self.documentation = documentation
        self.example = example
        self.defaultText = defaultText
        self.effect = effect
        self.sharedFileHoldsForUsers = sharedFileHoldsForUsers
        self.sharedFileBindsUsers = sharedFileBindsUsers
        runtimeName = runtime
        read = column.read
        write = column.write
    }
}

/// A place in `DaemonSettings`. It is `Sendable`, so that threads can share the table.
package typealias Place<Value> = WritableKeyPath<DaemonSettings, Value> & Sendable

extension Setting.Column {
    static func integer(_ path: Place<Int>) -> Self {
        Self(
            read: { .integer(Int64($0[keyPath: path])) },
            write: { value, settings in
                if let number = value.integerValue { settings[keyPath: path] = Int(number) }
            })
    }

    static func optionalInteger(_ path: Place<Int?>) -> Self {
        Self(
            read: { settings in settings[keyPath: path].map { .integer(Int64($0)) } ?? .null },
            write: { value, settings in settings[keyPath: path] = value.integerValue.map { Int($0) } })
    }

    /// A limit for which 0 means none.
    static func limit(_ path: Place<Int?>) -> Self {
        Self(
            read: { .integer(Int64($0[keyPath: path] ?? 0)) },
            write: { value, settings in
                if let number = value.integerValue { settings[keyPath: path] = number == 0 ? nil : Int(number) }
            })
    }

    static func size(_ path: Place<ByteCount>) -> Self {
        Self(
            read: { .integer($0[keyPath: path].rawValue) },
            write: { value, settings in
                if let number = value.integerValue { settings[keyPath: path] = ByteCount(number) }
            })
    }

    static func rate(_ path: Place<ByteRate>) -> Self {
        Self(
            read: { .integer($0[keyPath: path].rawValue) },
            write: { value, settings in
                if let number = value.integerValue { settings[keyPath: path] = ByteRate(number) }
            })
    }

    static func duration(_ path: Place<Seconds>) -> Self {
        Self(
            read: { .number($0[keyPath: path].rawValue) },
            write: { value, settings in
                if let number = value.numberValue { settings[keyPath: path] = Seconds(number) }
            })
    }

    static func boolean(_ path: Place<Bool>) -> Self {
        Self(
            read: { .bool($0[keyPath: path]) },
            write: { value, settings in
                if let flag = value.boolValue { settings[keyPath: path] = flag }
            })
    }

    static func text(_ path: Place<String>) -> Self {
        Self(
            read: { .string($0[keyPath: path]) },
            write: { value, settings in
                if let text = value.stringValue { settings[keyPath: path] = text }
            })
    }

    static func optionalText(_ path: Place<String?>) -> Self {
        Self(
            read: { settings in settings[keyPath: path].map { .string($0) } ?? .null },
            write: { value, settings in settings[keyPath: path] = value.stringValue })
    }

    static func list(_ path: Place<[String]>) -> Self {
        Self(
            read: { .array($0[keyPath: path].map { .string($0) }) },
            write: { value, settings in
                settings[keyPath: path] = value.arrayValue?.compactMap(\.stringValue) ?? []
            })
    }

    static func choice<Choice: RawRepresentable<String> & SendableMetatype>(_ path: Place<Choice>) -> Self {
        Self(
            read: { .string($0[keyPath: path].rawValue) },
            write: { value, settings in
                if let choice = value.stringValue.flatMap(Choice.init(rawValue:)) {
                    settings[keyPath: path] = choice
                }
            })
    }
}

extension SettingKind {
    /// Any case of `Choice`, by its name on the wire.
    static func choice<Choice: CaseIterable & RawRepresentable<String>>(of _: Choice.Type) -> Self {
        .choice(Choice.allCases.map(\.rawValue))
    }
}
