import TransferCore
import TransferModel

/// The values that a setting accepts. It checks text (files, environment, flags) and JSON (`settings.set`) in one
/// place.
package enum SettingKind: Hashable, Sendable {
    case integer(ClosedRange<Int64>)
    /// Bytes.
    case size(ClosedRange<Int64>)
    /// Bytes per second, 0 = unlimited.
    case rate
    /// Seconds.
    case duration(ClosedRange<Double>)
    case boolean
    case choice([String])
    /// Absolute, or below the home folder with a leading `~/`.
    case path
    /// A line of printable text.
    case text
    /// `none`, or a URL with scheme http, https, socks5 or socks5h.
    case proxy
    case list

    package var name: String {
        switch self {
        case .integer: "integer"
        case .size: "size"
        case .rate: "rate"
        case .duration: "duration"
        case .boolean: "boolean"
        case .choice: "choice"
        case .path: "path"
        case .text: "text"
        case .proxy: "proxy URL"
        case .list: "list of texts"
        }
    }

    package var unit: String {
        switch self {
        case .integer, .boolean, .choice, .path, .text, .proxy, .list: "none"
        case .size: "bytes"
        case .rate: "bytes per second"
        case .duration: "seconds"
        }
    }

    /// The sentence that says what is accepted, with the range.
    package var accepts: String {
        switch self {
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .size(let range):
            "a size in bytes from \(QuantityText.text(bytes: range.lowerBound)) to "
                + "\(QuantityText.text(bytes: range.upperBound)); k, M, G, T, P multiply by 1024: 500k, 1.5G"
        case .rate: "a rate in bytes per second, 0 or none = unlimited; k, M, G, T, P multiply by 1024: 500k, 2M"
        case .duration(let range):
            "a time in seconds from \(QuantityText.text(seconds: range.lowerBound)) to "
                + "\(QuantityText.text(seconds: range.upperBound)); or with w, d, h, m, s, ms: 500ms, 12h, 1h30m"
        case .boolean: "true or false"
        case .choice(let names): "one of \(names.joined(separator: ", "))"
        case .path: "an absolute path, or one that starts with ~/"
        case .text: "one line of text, at most 1024 bytes"
        case .proxy: ProxyRules.accepted
        case .list: "a list of texts"
        }
    }

    /// The value of `text`; nil if this kind does not accept it.
    package func value(ofText text: String) -> JSONValue? {
        switch self {
        case .integer: Int64(text).flatMap { checked(.integer($0)) }
        case .size, .rate: QuantityText.bytes(text).flatMap { checked(.integer($0)) }
        case .duration: QuantityText.seconds(text).flatMap { checked(.number($0)) }
        case .boolean: Bool(text).map { .bool($0) }
        case .choice, .path, .text, .proxy: checked(.string(text))
        case .list:
            checked(.array(text.split(separator: ",").map { .string(String($0.drop { $0 == " " })) }))
        }
    }

    /// `value` in its normal form; nil if this kind does not accept it.
    package func checked(_ value: JSONValue) -> JSONValue? {
        guard accepts(value) else { return Optional.none }
        if case .duration = self { return value.numberValue.map { .number($0) } }
        return value
    }

    private func accepts(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.integer(let range), .integer(let number)), (.size(let range), .integer(let number)):
            range.contains(number)
        case (.rate, .integer(let number)): number >= 0
        case (.duration(let range), .integer), (.duration(let range), .number):
            value.numberValue.map { range.contains($0) } ?? false
        case (.boolean, .bool): true
        case (.choice(let names), .string(let text)): names.contains(text)
        case (.path, .string(let text)):
            (text.hasPrefix("/") || text.hasPrefix("~/")) && Self.isLine(text, limit: 4095)
        case (.text, .string(let text)): !text.isEmpty && Self.isLine(text, limit: 1024)
        case (.proxy, .string(let text)): Self.isLine(text, limit: 1024) && ProxyRules.accepts(text)
        case (.list, .array(let items)):
            items.allSatisfy { $0.stringValue.map { !$0.isEmpty && Self.isLine($0, limit: 1024) } ?? false }
        case (.integer, _), (.size, _), (.rate, _), (.duration, _), (.boolean, _), (.choice, _), (.path, _),
            (.text, _), (.proxy, _), (.list, _):
            false
        }
    }

    /// `value` in the form of a configuration file.
    package func text(of value: JSONValue) -> String {
        switch (self, value) {
        case (.size, .integer(let number)), (.rate, .integer(let number)): QuantityText.text(bytes: number)
        case (.duration, _): value.numberValue.map { QuantityText.text(seconds: $0) } ?? ""
        case (_, .integer(let number)): String(number)
        case (_, .number(let number)): String(number)
        case (_, .bool(let flag)): String(flag)
        case (_, .string(let text)): Self.needsQuotes(text) ? "\"\(text)\"" : text
        case (_, .array(let items)): "[\(items.compactMap(\.stringValue).joined(separator: ", "))]"
        case (_, .null), (_, .object): ""
        }
    }

    private static func isLine(_ text: String, limit: Int) -> Bool {
        text.utf8.count <= limit && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }

    /// Whether YAML would read the text as a number or a boolean.
    private static func needsQuotes(_ text: String) -> Bool {
        Double(text) != nil || ["true", "false", "null", "yes", "no", "on", "off"].contains(text)
    }
}
