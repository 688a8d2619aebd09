import TransferModel

/// `name=value` on the command line, for `settings` and `session set`: sizes, durations and lists as users write them,
/// and JSON for everything else.
struct Assignment: Hashable {
    var name: String
    var value: String

    init?(_ text: String) {
        guard let equals = text.firstIndex(of: "="), equals != text.startIndex else { return nil }
        name = String(text[..<equals])
        value = String(text[text.index(after: equals)...])
    }

    /// All of them by name; of one name the last counts. nil if there are none.
    static func pairs(_ texts: [String]) -> [String: String]? {
        let pairs = texts.compactMap { Assignment($0) }
        return pairs.isEmpty ? nil : Dictionary(pairs.map { ($0.name, $0.value) }) { _, last in last }
    }

    /// The form in which a setting's value is typed.
    enum Form: Hashable {
        case count, bytes, rate, seconds, flag, text, words([String]), json
        /// Words separated by commas, or JSON.
        case list
    }

    /// - Throws: `CommandFailure.usage` with the accepted forms.
    func parsed(as form: Form) throws -> JSONValue {
        if ["default", "null", "unset"].contains(value) { return .null }
        switch form {
        case .count:
            if let number = Int64(value), number >= 0 { return .integer(number) }
            throw wrong("a number")
        case .bytes, .rate:
            if let bytes = QuantityText.bytes(value) { return .integer(bytes) }
            throw wrong(form == .rate ? "a rate such as 500k, 2M or none" : "a size such as 500M or 2G")
        case .seconds:
            guard let length = QuantityText.seconds(value) else { throw wrong("a duration such as 30s, 5m or 7d") }
            return Self.number(length)
        case .flag:
            switch value.lowercased() {
            case "true", "yes", "on", "1": return .bool(true)
            case "false", "no", "off", "0": return .bool(false)
            default: throw wrong("yes or no")
            }
        case .text: return .string(value)
        case .words(let known):
            if known.contains(value) { return .string(value) }
            throw wrong("one of " + known.joined(separator: ", "))
        case .json:
            if let json = JSONText.value(value) { return json }
            throw wrong("JSON")
        case .list:
            if value.hasPrefix("["), let json = JSONText.value(value) { return json }
            let words = value.split(separator: ",", omittingEmptySubsequences: false)
            guard words.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isLetter) }) else {
                throw wrong("words with commas between")
            }
            return .array(words.map { .string(String($0)) })
        }
    }

    private static func number(_ value: Double) -> JSONValue {
        Int64(exactly: value).map(JSONValue.integer) ?? .number(value)
    }

    private func wrong(_ expected: String) -> CommandFailure {
        CommandFailure.usage("\(name)=\(Printable.text(value, limit: 40)): give \(expected), or 'default'")
    }
}

extension SettingName {
    /// The form in which its value is typed.
    var form: Assignment.Form {
        switch self {
        case .maximumConcurrentTasks, .maximumConcurrentTasksPerHost, .maximumConcurrentTasksPerUser,
            .maximumQueuedTasksPerUser, .eventRetentionCount:
            .count
        case .downloadRateLimit, .uploadRateLimit: .rate
        case .minimumFreeSpace: .bytes
        case .historyRetention, .eventRetention, .progressInterval, .diskPollInterval: .seconds
        case .credentialHelper: .text
        case .lowDataMode, .keepsAwake: .flag
        }
    }
}

extension Assignment.Form {
    /// The value for users.
    func text(_ value: JSONValue) -> String {
        switch self {
        case .rate: value.integerValue.map { Figures.limit(ByteRate($0)) } ?? "?"
        case .bytes: value.integerValue.map { Figures.bytes(ByteCount($0)) } ?? "?"
        case .seconds:
            value.numberValue.map { $0 < 60 ? "\(JSONText.number($0))s" : Figures.duration(Seconds(rawValue: $0)) }
                ?? "?"
        case .count, .flag, .text, .words, .json, .list: JSONText.plain(value)
        }
    }

    /// The form in which a setting of sessions is typed; nil if there is no such setting.
    init?(of name: String) {
        guard let row = SessionConfiguration.shape[name] else { return nil }
        switch row.field.type {
        case .seconds: self = .seconds
        case .integer: self = .count
        case .byteRate: self = .rate
        case .byteCount: self = .bytes
        case .boolean: self = .flag
        case .choice(let words, _): self = .words(words)
        case .list(.choice): self = .list
        case .string: self = .text
        case .number, .null, .any, .time, .taskID, .sequence, .userID, .list, .map, .object, .either: self = .json
        }
    }
}
