/// How values become JSON text and back: on the wire, in the store and in dlctl.
public enum JSONCoding {
    /// Compact text, with members in the order of the type's rows.
    public static func encode(_ value: some WireValue) -> [UInt8] {
        var writer = JSONWriter()
        value.write(to: &writer)
        return writer.bytes
    }

    /// - Parameter lenient: ignores members that the type does not know, as of a newer daemon.
    /// - Throws: `TransferError`: `request.bad_field`, or `request.unknown_field`, with the path of the field.
    public static func decode<T: WireValue>(
        _: T.Type = T.self, from text: [UInt8], lenient: Bool = false
    ) throws(TransferError) -> T {
        let tape: JSONTape
        do throws(JSONTape.Invalid) {
            tape = try JSONTape(text, lenient: lenient)
        } catch {
            throw TransferError(.badField, "This is not JSON: \(error.reason), at byte \(error.offset).")
        }
        return try T(json: tape.root)
    }

    /// Text that is the same for equal values, in whatever order their members are written: without spaces, and with the
    /// members of each object sorted by name.
    package static func canonical(_ value: some WireValue) -> [UInt8] {
        let text = encode(value)
        guard let tape = try? JSONTape(text) else { return text }
        var writer = JSONWriter()
        writer.canonical(tape.root)
        return writer.bytes
    }

    /// Text for people, with a line for each member and the members of each object sorted by name.
    package static func pretty(_ value: some WireValue) -> String {
        let text = canonical(value)
        guard let tape = try? JSONTape(text) else { return String(decoding: text, as: UTF8.self) }
        return pretty(tape.root, indented: "")
    }

    private static func pretty(_ node: JSONNode, indented outer: String) -> String {
        let isObject = node.kind == .object
        guard isObject || node.kind == .array else { return String(decoding: node.text, as: UTF8.self) }
        let brackets = isObject ? ("{", "}") : ("[", "]")
        let inner = outer + "  "
        let lines = node.places.map { place in
            let value = pretty(JSONNode(tape: node.tape, index: isObject ? place + 1 : place), indented: inner)
            guard isObject else { return inner + value }
            return inner + String(decoding: JSONNode(tape: node.tape, index: place).text, as: UTF8.self) + " : " + value
        }
        return brackets.0 + "\n" + lines.joined(separator: ",\n") + "\n" + outer + brackets.1
    }
}

extension JSONWriter {
    /// Recursive; the depth of a tape is limited.
    fileprivate mutating func canonical(_ node: JSONNode) {
        switch node.kind {
        case .null, .yes, .no, .number, .string: append(node.text)
        case .array: array(node.places) { $1.canonical(JSONNode(tape: node.tape, index: $0)) }
        case .object:
            let names = node.places.map { JSONNode(tape: node.tape, index: $0) }
                .sorted { $0.text.lexicographicallyPrecedes($1.text) }
            object { writer in
                for name in names {
                    writer.name(name.text + [UInt8(ascii: ":")])
                    writer.canonical(JSONNode(tape: node.tape, index: name.index + 1))
                }
            }
        }
    }
}
