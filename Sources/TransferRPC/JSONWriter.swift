import TransferModel

/// Writes events as JSON text directly: an encoder would cost ten times as much on each of thousands a second.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init() {}

    /// The text of an event without the opening brace: what follows `{` or `{"subscription":"…",`.
    package static func members(of event: EventRecord) -> [UInt8] {
        var writer = JSONWriter()
        if let sequence = event.sequence { writer.member("sequence", .integer(sequence.rawValue)) }
        writer.member("time", .string(event.time.description))
        writer.member("type", .string(event.type.rawValue))
        writer.member("session", .string(event.session.identifier))
        writer.member("owner", .integer(Int64(event.session.owner.rawValue)))
        if let task = event.task { writer.member("task", .integer(task.rawValue)) }
        for (name, value) in event.payload.sorted(by: { $0.key < $1.key })
        where EventView.CodingKeys(stringValue: name) == nil {
            writer.member(name, value)
        }
        writer.bytes.append(UInt8(ascii: "}"))
        return writer.bytes
    }

    private mutating func member(_ name: String, _ value: JSONValue) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
        JSONEscape.quote(name, into: &bytes)
        bytes.append(UInt8(ascii: ":"))
        write(value)
    }

    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .integer(let value): append(String(value))
        case .number(let value): append(Self.text(of: value))
        case .string(let value): JSONEscape.quote(value, into: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write(value)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            var inner = JSONWriter()
            for (name, value) in members.sorted(by: { $0.key < $1.key }) { inner.member(name, value) }
            bytes.append(UInt8(ascii: "{"))
            bytes += inner.bytes
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// A whole number has no fraction, as where it was stored and read again: an event is told in the same words always.
    private static func text(of number: Double) -> String {
        if let whole = Int64(exactly: number) { return String(whole) }
        return number.isFinite ? String(number) : "null"
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
}
