/// One value of a JSON text, to be read as the type that it should have.
///
/// Refusals name the path of the field from the text's root (`tasks[3].priority`) and what is expected there, so that a
/// caller who sent a thousand tasks learns which one is wrong. They never repeat the value, which may be a secret in the
/// wrong field.
public struct JSONNode: Sendable {
    let tape: JSONTape
    let index: Int

    var entry: JSONTape.Entry { tape.entries[index] }

    package var kind: JSONTape.Kind { tape.entries[index].kind }

    public var isNull: Bool { kind == .null }

    /// Its text; of a string, with the quotes.
    package var text: ArraySlice<UInt8> {
        let entry = entry
        let quote = entry.kind == .string ? 1 : 0
        return tape.bytes[Int(entry.start) - quote..<Int(entry.end) + quote]
    }

    /// Members that the reader does not know are ignored.
    var isLenient: Bool { tape.isLenient }
}

// MARK: - Single values

extension JSONNode {
    public func string() throws(TransferError) -> String {
        let entry = entry
        guard entry.kind == .string else { throw refusal("give a string.") }
        guard let text = characters(entry) else {
            throw refusal("text that is not UTF-8, or with half of a surrogate pair.")
        }
        return text
    }

    /// The string, if it is one.
    package var stringIfAny: String? { kind == .string ? characters(entry) : nil }

    private func characters(_ entry: JSONTape.Entry) -> String? {
        if entry.count != 0 {
            return JSONEscape.unescaped(tape.slice(entry)).flatMap { String(validating: $0, as: UTF8.self) }
        }
        // Pure ASCII, as nearly all texts are: `String(validating:)` looks up types at each call.
        let plain: String? = tape.bytes.withUnsafeBufferPointer { bytes in
            let text = UnsafeBufferPointer(rebasing: bytes[Int(entry.start)..<Int(entry.end)])
            return text.allSatisfy { $0 < 0x80 } ? String(decoding: text, as: UTF8.self) : nil
        }
        return plain ?? String(validating: tape.slice(entry), as: UTF8.self)
    }

    public func bool() throws(TransferError) -> Bool {
        switch kind {
        case .yes: return true
        case .no: return false
        case .null, .number, .string, .array, .object: throw refusal("give true or false.")
        }
    }

    /// A whole number; `1.0` and `1e3` are whole too.
    public func integer<T: FixedWidthInteger>(_: T.Type = T.self) throws(TransferError) -> T {
        guard kind == .number else { throw refusal("give a whole number.") }
        guard let value: T = integerIfAny() else {
            throw refusal("a number that is too large, or has a fraction; only whole numbers count here.")
        }
        return value
    }

    /// The number, if it is one and `T` has it.
    package func integerIfAny<T: FixedWidthInteger>(_: T.Type = T.self) -> T? {
        let entry = entry
        guard entry.kind == .number else { return nil }
        var digits = tape.slice(entry)
        guard entry.count == 0 else {
            return Double(String(decoding: digits, as: UTF8.self)).flatMap { T(exactly: $0) }
        }
        var value: T = 0
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        for digit in digits {
            let (tens, overflows) = value.multipliedReportingOverflow(by: 10)
            let step = T(truncatingIfNeeded: digit &- UInt8(ascii: "0"))
            let (sum, carries) =
                isNegative ? tens.subtractingReportingOverflow(step) : tens.addingReportingOverflow(step)
            guard !overflows, !carries else { return nil }
            value = sum
        }
        return value
    }

    public func double() throws(TransferError) -> Double {
        guard kind == .number else { throw refusal("give a number.") }
        guard let value = doubleIfAny else { throw refusal("a number that is too large.") }
        return value
    }

    package var doubleIfAny: Double? {
        guard kind == .number, let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else {
            return nil
        }
        return value
    }
}

// MARK: - Members and elements

extension JSONNode {
    /// Walks over the members of an object, or the elements of an array.
    struct Places: Sequence, IteratorProtocol {
        let tape: JSONTape
        let isObject: Bool
        var index: Int
        let end: Int

        /// Entry of the next element, or of the next member's name.
        mutating func next() -> Int? {
            guard index < end else { return nil }
            defer { index = Int(tape.entries[isObject ? index + 1 : index].next) }
            return index
        }
    }

    /// Empty unless it is an object or an array.
    var places: Places {
        let entry = entry
        let isObject = entry.kind == .object
        let end = isObject || entry.kind == .array ? Int(entry.next) : index
        return Places(tape: tape, isObject: isObject, index: index + 1, end: end)
    }

    /// - Throws: if it is not an object.
    package func members() throws(TransferError) -> [(name: JSONNode, value: JSONNode)] {
        guard kind == .object else { throw refusal("give an object.") }
        return places.map { (JSONNode(tape: tape, index: $0), JSONNode(tape: tape, index: $0 + 1)) }
    }

    /// - Throws: if it is not an array.
    package func elements() throws(TransferError) -> [JSONNode] {
        guard kind == .array else { throw refusal("give a list.") }
        return places.map { JSONNode(tape: tape, index: $0) }
    }

    /// Number of members or elements.
    package var count: Int { kind == .object || kind == .array ? Int(entry.count) : 0 }

    /// Whether it is a list of lists that each begin with a string without escapes, and `holds` is true for all these
    /// strings.
    package func firstElements(_ holds: (ArraySlice<UInt8>) -> Bool) -> Bool {
        guard kind == .array else { return false }
        return places.allSatisfy { pair in
            guard tape.entries[pair].kind == .array, tape.entries[pair].count > 0 else { return false }
            let first = tape.entries[pair + 1]
            return first.kind == .string && first.count == 0 && holds(tape.slice(first))
        }
    }

    /// The member with this name, unless it is null.
    package func member(_ name: String) -> JSONNode? { find(name).flatMap { $0.isNull ? nil : $0 } }

    /// The member with this name; nil if it is absent or null.
    package func value<Value: WireValue>(_ name: String, as _: Value.Type = Value.self) throws(TransferError) -> Value?
    {
        guard let node = member(name) else { return nil }
        return try Value(json: node)
    }

    /// Whether the member with this name is there and null.
    package func isNull(_ name: String) -> Bool { find(name)?.isNull ?? false }

    /// The member with this name, even if it is null.
    package func find(_ name: String) -> JSONNode? {
        guard kind == .object else { return nil }
        return places.first { JSONNode(tape: tape, index: $0).stringIfAny == name }
            .map { JSONNode(tape: tape, index: $0 + 1) }
    }
}

// MARK: - Refusals

extension JSONNode {
    /// - Parameter sentence: what is expected here.
    /// - Returns: `request.bad_field` with the value's path.
    package func refusal(_ sentence: String, _ code: ErrorCode = .badField, member: String? = nil) -> TransferError {
        let path = path(member)
        return TransferError(
            code, path.isEmpty ? sentence : "\(path): \(sentence)",
            details: path.isEmpty ? [:] : ["field": .string(path)])
    }

    package func missing(_ member: String) -> TransferError { refusal("missing; it is required.", member: member) }

    /// The path of the value, or of its member: `tasks[3].checksum.value`. A name with a dot is quoted:
    /// `exceptionDomains["example.org"]`.
    package func path(_ member: String? = nil) -> String {
        var path = ""
        var holder = JSONNode(tape: tape, index: 0)
        while holder.index != index, let (step, value) = holder.step(to: index, after: path) {
            path += step
            holder = JSONNode(tape: tape, index: value)
        }
        return path + (member.map { Self.step($0, after: path) } ?? "")
    }

    /// The member or element that is or contains the value at `target`.
    private func step(to target: Int, after path: String) -> (String, value: Int)? {
        let isObject = kind == .object
        for (number, place) in places.enumerated() {
            let value = isObject ? place + 1 : place
            guard (place..<Int(tape.entries[value].next)).contains(target) else { continue }
            guard isObject else { return ("[\(number)]", value) }
            return (Self.step(JSONNode(tape: tape, index: place).legible, after: path), value)
        }
        return nil
    }

    private static func step(_ name: String, after path: String) -> String {
        if name.isEmpty || !path.isEmpty && name.utf8.contains(UInt8(ascii: ".")) { return "[\"\(name)\"]" }
        return path.isEmpty ? name : ".\(name)"
    }

    /// The string, for people: also if it is not UTF-8, or has half of a surrogate pair.
    var legible: String { stringIfAny ?? String(decoding: tape.slice(entry), as: UTF8.self) }
}
