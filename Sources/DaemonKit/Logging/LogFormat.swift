import Logging
import TransferModel

/// Writes one message as one line, whatever it contains: a server's text must not forge log lines or steer a terminal.
package enum LogFormat: Hashable, Sendable {
    /// For a person: time, level, message.
    case readable
    /// For the journal, which has the time itself: `<6>` prefixes as in sd-daemon(3).
    case journal

    package func line(
        level: Logger.Level, message: String, metadata: Logger.Metadata, at time: Timestamp
    ) -> String {
        var line =
            switch self {
            case .readable: "\(time) \(level.rawValue) "
            case .journal: "<\(Self.priority(of: level))>"
            }
        line += Self.escaped(message)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            line += " \(Self.escaped(key))=\(Self.quoted("\(value)"))"
        }
        return line + "\n"
    }

    /// syslog(3).
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

    private static func quoted(_ text: String) -> String {
        let plain = escaped(text)
        let isMarked = text.utf8.contains { byte in
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "=")
        }
        guard text.isEmpty || isMarked else { return plain }
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
        case 0..<0x20, 0x7f..<0xa0, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
