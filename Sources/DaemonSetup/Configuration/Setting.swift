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
    /// - Parameter value: nil if the setting stays as it is.
    private init<Value: SendableMetatype>(
        _ path: Place<Value>, _ json: @escaping @Sendable (Value) -> JSONValue,
        _ value: @escaping @Sendable (JSONValue) -> Value?
    ) {
        read = { json($0[keyPath: path]) }
        write = { json, settings in
            if let value = value(json) { settings[keyPath: path] = value }
        }
    }

    static func integer(_ path: Place<Int>) -> Self {
        Self(path, { .integer(Int64($0)) }, { $0.integerValue.map { Int($0) } })
    }

    static func optionalInteger(_ path: Place<Int?>) -> Self {
        Self(path, { $0.map { .integer(Int64($0)) } ?? .null }, { .some($0.integerValue.map { Int($0) }) })
    }

    /// A limit for which 0 means none.
    static func limit(_ path: Place<Int?>) -> Self {
        Self(path, { .integer(Int64($0 ?? 0)) }, { $0.integerValue.map { $0 == 0 ? nil : Int($0) } })
    }

    static func size(_ path: Place<ByteCount>) -> Self {
        Self(path, { .integer($0.rawValue) }, { $0.integerValue.map { ByteCount($0) } })
    }

    static func rate(_ path: Place<ByteRate>) -> Self {
        Self(path, { .integer($0.rawValue) }, { $0.integerValue.map { ByteRate($0) } })
    }

    static func duration(_ path: Place<Seconds>) -> Self {
        Self(path, { .number($0.rawValue) }, { $0.numberValue.map { Seconds($0) } })
    }

    static func boolean(_ path: Place<Bool>) -> Self { Self(path, { .bool($0) }, \.boolValue) }

    static func text(_ path: Place<String>) -> Self { Self(path, { .string($0) }, \.stringValue) }

    static func optionalText(_ path: Place<String?>) -> Self {
        Self(path, { $0.map { .string($0) } ?? .null }, { .some($0.stringValue) })
    }

    static func list(_ path: Place<[String]>) -> Self {
        Self(path, { .array($0.map { .string($0) }) }, { $0.arrayValue?.compactMap(\.stringValue) ?? [] })
    }

    static func choice<Choice: RawRepresentable<String> & SendableMetatype>(_ path: Place<Choice>) -> Self {
        Self(path, { .string($0.rawValue) }, { $0.stringValue.flatMap(Choice.init(rawValue:)) })
    }
}

extension SettingKind {
    /// Any case of `Choice`, by its name on the wire.
    static func choice<Choice: CaseIterable & RawRepresentable<String>>(of _: Choice.Type) -> Self {
        .choice(Choice.allCases.map(\.rawValue))
    }
}
