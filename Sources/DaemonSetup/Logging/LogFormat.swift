import Logging
import TransferModel

/// Writes one message as one line, whatever it contains. A server's text must not forge log lines or control a
/// terminal.
package enum LogFormat: Hashable, Sendable {
    /// For a person: time, level, message.
    case readable
    /// For the journal, which adds the time itself: with a prefix such as `<6>` (sd-daemon(3)).
    case journal

    package func line(
        level: Logger.Level, message: String, metadata: Logger.Metadata, at time: Timestamp
    ) -> String {
        let start =
            switch self {
            case .readable: "\(time) \(level.rawValue) "
            case .journal: "<\(Self.priority(of: level))>"
            }
        return start + Self.text(message, Self.fields(metadata)) + "\n"
    }

    /// The line for standard error. For the journal, also the same as an entry with fields, if there are any.
    func record(
        level: Logger.Level, message: String, metadata: Logger.Metadata, at time: Timestamp, program: String
    ) -> LogRecord {
        var record = LogRecord(line: line(level: level, message: message, metadata: metadata, at: time))
        guard self == .journal, !metadata.isEmpty else { return record }
        let fields = Self.fields(metadata)
        record.entry = JournalEntry(
            fields: [
                ("MESSAGE", Self.text(message, fields)), ("PRIORITY", String(Self.priority(of: level))),
                ("SYSLOG_IDENTIFIER", program),
            ] + fields.map { (JournalEntry.fieldName(of: $0.key), $0.value) })
        return record
    }

    private static func text(_ message: String, _ fields: [(key: String, value: String)]) -> String {
        fields.reduce(bounded(escaped(message), longestMessage)) { "\($0) \($1.key)=\(quoted($1.value))" }
    }

    /// The fields in the order of their keys, with all control characters escaped.
    private static func fields(_ metadata: Logger.Metadata) -> [(key: String, value: String)] {
        metadata.sorted { $0.key < $1.key }.map { (escaped($0.key), bounded(escaped("\($0.value)"), longestValue)) }
    }

    /// The longest value in bytes. The journal cuts lines on standard error at 48 KiB (LineMax=, journald.conf(5)), and
    /// the text after the cut would be a line with its own priority.
    private static let longestValue = 4096
    private static let longestMessage = 16384

    private static func bounded(_ text: String, _ limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        return String(decoding: text.utf8.prefix(limit), as: UTF8.self) + "…"
    }

    /// The priority of syslog(3).
    static func priority(of level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    /// - Parameter plain: text that is already escaped.
    private static func quoted(_ plain: String) -> String {
        let isMarked = plain.utf8.contains { byte in
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "=")
        }
        guard plain.isEmpty || isMarked else { return plain }
        let parts = plain.split(separator: "\"", omittingEmptySubsequences: false)
        return "\"\(parts.joined(separator: "\\\""))\""
    }

    /// `text` with line breaks, other control characters and direction marks made visible.
    static func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return text }
        guard text.unicodeScalars.contains(where: isHarmful) else { return text }
        var safe = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": safe += "\\n"
            case "\r": safe += "\\r"
            case "\t": safe += "\\t"
            case _ where isHarmful(scalar): safe += "\\u{\(String(scalar.value, radix: 16))}"
            default: safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
