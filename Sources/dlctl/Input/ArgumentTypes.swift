import ArgumentParser
import TransferModel

/// A transfer rate on the command line.
struct RateArgument: ExpressibleByArgument, Hashable {
    var rate: ByteRate

    init?(argument: String) {
        guard let bytes = QuantityText.bytes(argument) else { return nil }
        rate = ByteRate(bytes)
    }

    var defaultValueDescription: String { rate.isUnlimited ? "none" : Figures.rate(rate) }
}

/// A length of time on the command line.
struct DurationArgument: ExpressibleByArgument, Hashable {
    var seconds: Seconds

    init?(argument: String) {
        guard let seconds = QuantityText.seconds(argument) else { return nil }
        self.seconds = Seconds(rawValue: seconds)
    }
}

/// A point in time on the command line. Relative times start when the command is read.
struct MomentArgument: ExpressibleByArgument, Hashable {
    var timestamp: Timestamp

    init?(argument: String) {
        guard let timestamp = MomentText.timestamp(argument, now: .now()) else { return nil }
        self.timestamp = timestamp
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

/// `sha-256:HEX`. Spellings such as `sha256`, and `=` instead of the colon, are accepted too.
struct ChecksumArgument: ExpressibleByArgument, Hashable {
    var checksum: Checksum

    init?(argument: String) {
        guard let mark = argument.firstIndex(where: { $0 == ":" || $0 == "=" }),
            let algorithm = Self.algorithm(argument[..<mark].lowercased())
        else { return nil }
        let value = argument[argument.index(after: mark)...].lowercased()
        guard value.count == algorithm.hexLength, value.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        checksum = Checksum(algorithm: algorithm, value: value)
    }

    static func algorithm(_ name: String) -> DigestAlgorithm? {
        DigestAlgorithm(rawValue: name)
            ?? DigestAlgorithm.allCases.first { $0.rawValue.filter { $0 != "-" } == name }
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
