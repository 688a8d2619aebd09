import CurlEngine
import TransferCore
import TransferModel

/// Prepares a line of libcurl's for the log at `trace`: it masks the secrets and leaves the rest.
enum TraceLine {
    static func masked(_ kind: EngineTrace.Kind, _ line: String) -> String {
        switch kind {
        case .note: note(line)
        case .sent, .received: head(line)
        }
    }

    /// A request line, a status line, a field, or an FTP command.
    private static func head(_ line: String) -> String {
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        if words.count == 3, words[2].hasPrefix("HTTP/") {
            return "\(words[0]) \(url(words[1])) \(words[2])"
        }
        if let first = words.first, ["PASS", "ACCT"].contains(first.uppercased()) {
            return "\(first) \(HeaderField.mask)"
        }
        return field(line) ?? line
    }

    /// `Name: value`.
    private static func field(_ line: String) -> String? {
        // The pseudo-header fields of HTTP/2 begin with a colon.
        guard let colon = line.utf8.dropFirst().firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = String(line[..<colon])
        guard !name.isEmpty, !name.contains(" ") else { return nil }
        let value = String(line[line.index(after: colon)...].drop { $0 == " " })
        if name == ":path" { return ":path: \(url(value[...]))" }
        let field = HeaderField(name, value)
        let shown = field.shownValue
        return "\(name): \(field.isURL ? URLRules.redacted(shown) : shown)"
    }

    /// A server may have named it.
    private static func url(_ text: Substring) -> String { URLRules.redacted(URLRules.withoutSecrets(String(text))) }

    /// libcurl writes HTTP/2 fields as `[name: value]`, and names proxies of the environment with their passwords.
    private static func note(_ line: String) -> String {
        if line.last == "]", let open = line.lastIndex(of: "["),
            let field = field(String(line[line.index(after: open)...].dropLast()))
        {
            return line[...open] + field + "]"
        }
        var (shown, rest) = ("", line[...])
        while let mark = rest.firstRange(of: "://") {
            let begin = rest[..<mark.lowerBound].lastIndex { !$0.isLetter && !$0.isNumber && $0 != "+" }
            let start = begin.map { rest.index(after: $0) } ?? rest.startIndex
            let end = rest[mark.upperBound...].firstIndex { $0 == " " || $0 == "'" || $0 == "\"" } ?? rest.endIndex
            shown += rest[..<start] + url(rest[start..<end])
            rest = rest[end...]
        }
        return shown + rest
    }
}
