import ArgumentParser
import Glibc
import TransferModel

extension ByteRate: ExpressibleByArgument {
    public init?(argument: String) {
        guard let bytes = QuantityText.bytes(argument) else { return nil }
        self.init(bytes)
    }
}

extension Seconds: ExpressibleByArgument {
    public init?(argument: String) {
        guard let seconds = QuantityText.seconds(argument) else { return nil }
        self.init(rawValue: seconds)
    }
}

/// `Name: value`, in the form of curl and wget.
struct HeaderArgument: Hashable {
    var field: HeaderField

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        let name = argument[..<colon]
        guard HeaderField.isToken(name) else { return nil }
        let value = argument[argument.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        guard !value.unicodeScalars.contains(where: { $0 == "\r" || $0 == "\n" || $0 == "\0" }) else { return nil }
        field = HeaderField(String(name), String(value))
    }

    /// Tells whether the text is a header, or names a file of headers.
    static func isAcceptable(_ text: String) -> Bool { text.hasPrefix("@") || HeaderArgument(argument: text) != nil }

    /// Names the header, and does not repeat its value, which may be a secret.
    static func complaint(_ text: String) -> String {
        let name = text.prefix { $0 != ":" && !$0.isWhitespace }
        let shown = Printable.text(String(name), limit: 40)
        if text[name.endIndex...].first == ":", HeaderField.isToken(name) {
            return "-H: the value of '\(shown)' has a line break or a NUL; one -H is one line."
        }
        return "-H: '\(shown)\(name.endIndex < text.endIndex ? "…" : "")' is not 'Name: value'."
    }
}

extension Checksum: ExpressibleByArgument {
    /// `sha-256:HEX`. Spellings such as `sha256`, and `=` instead of the colon, are accepted too.
    public init?(argument: String) {
        guard let mark = argument.firstIndex(where: { $0 == ":" || $0 == "=" }),
            let algorithm = DigestAlgorithm(typed: argument[..<mark])
        else { return nil }
        let value = argument[argument.index(after: mark)...].lowercased()
        guard value.count == algorithm.hexLength, value.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        self.init(algorithm: algorithm, value: value)
    }
}

extension DigestAlgorithm {
    init?(typed text: some StringProtocol) {
        let name = text.lowercased()
        guard
            let known = Self.allCases.first(where: { [$0.rawValue, $0.rawValue.filter { $0 != "-" }].contains(name) })
        else { return nil }
        self = known
    }
}

extension Timestamp: ExpressibleByArgument {
    public init?(argument: String) {
        guard let moment = Self.typed(argument, now: .now()) else { return nil }
        self = moment
    }

    /// Reads times as users type them: RFC 3339, `HH:MM` (the next one, local time), `+30m`, `+2h`, `tomorrow HH:MM`.
    static func typed(_ text: String, now: Timestamp) -> Timestamp? {
        if text == "now" { return now }
        if text.hasPrefix("+") {
            return QuantityText.seconds(String(text.dropFirst())).map { now.advanced(by: Seconds(rawValue: $0)) }
        }
        if let exact = Timestamp(text) { return exact }
        let words = text.split(separator: " ")
        switch words.count {
        case 1: return clock(words[0]).flatMap { next($0, after: now, daysLater: 0) }
        case 2 where words[0] == "tomorrow": return clock(words[1]).flatMap { next($0, after: now, daysLater: 1) }
        case 2 where words[0] == "today": return clock(words[1]).flatMap { next($0, after: now, daysLater: 0) }
        case 2: return Timestamp("\(words[0])T\(words[1])")
        default: return nil
        }
    }

    private typealias ClockTime = (hour: Int32, minute: Int32, second: Int32)

    private static func clock(_ text: Substring) -> ClockTime? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), parts.allSatisfy({ (1...2).contains($0.count) }),
            parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) })
        else { return nil }
        let numbers = parts.compactMap { Int32($0) } + (parts.count == 2 ? [0] : [])
        guard numbers.count == 3, numbers[0] < 24, numbers[1] < 60, numbers[2] < 60 else { return nil }
        return (numbers[0], numbers[1], numbers[2])
    }

    /// The given time of day in the process's time zone: today's, or tomorrow's if that has passed.
    ///
    /// `mktime` itself finds the offset of that day (mktime(3), `tm_isdst` -1), so a change of daylight saving time in
    /// between is handled.
    private static func next(_ clock: ClockTime, after now: Timestamp, daysLater: Int32) -> Timestamp? {
        var seconds = time_t(now.rawValue / 1000)
        var local = tm()
        guard localtime_r(&seconds, &local) != nil else { return nil }
        for days in [daysLater, daysLater + 1] {
            var wanted = local
            wanted.tm_mday += days
            wanted.tm_hour = clock.hour
            wanted.tm_min = clock.minute
            wanted.tm_sec = clock.second
            wanted.tm_isdst = -1
            let moment = Timestamp(milliseconds: Int64(mktime(&wanted)) * 1000)
            if moment > now { return moment }
        }
        return nil
    }
}

extension TaskPriority: ExpressibleByArgument {
    public init?(argument: String) {
        if let named = TaskPriority(name: argument) {
            self = named
        } else if let value = Double(argument), (0...1).contains(value) {
            self.init(value)
        } else {
            return nil
        }
    }

    public static var allValueStrings: [String] { ["low", "normal", "high"] }
}

extension TaskID: ExpressibleByArgument {
    public init?(argument: String) {
        guard let value = Int64(argument), value > 0 else { return nil }
        self.init(value)
    }
}

extension TaskState: ExpressibleByArgument {}
extension TaskKind: ExpressibleByArgument {}
extension ConflictPolicy: ExpressibleByArgument {}
extension TLSVersion: ExpressibleByArgument {}
extension HTTPVersion: ExpressibleByArgument {}
extension EventType: ExpressibleByArgument {}
extension DecisionAction: ExpressibleByArgument {}
extension CredentialPersistence: ExpressibleByArgument {}
