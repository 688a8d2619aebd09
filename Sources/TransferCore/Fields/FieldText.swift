import TransferModel

/// Functions that read a field value from its front (RFC 9110 section 5.6).
extension Substring.UTF8View {
    /// Reads the bytes up to the first that does not satisfy `condition`.
    mutating func take(while condition: (UInt8) -> Bool) -> String {
        let end = firstIndex { !condition($0) } ?? endIndex
        defer { self = self[end...] }
        return String(decoding: self[..<end], as: UTF8.self)
    }

    /// Whether the value continues with this mark, which is then read.
    mutating func take(_ mark: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: mark) else { return false }
        removeFirst()
        return true
    }

    mutating func skipBlanks() { self = drop { $0 == 0x20 || $0 == 0x09 } }

    /// Reads a quoted string from its opening quote, without quotes and escapes (section 5.6.4).
    /// - Parameter endsOpen: an unterminated string extends to the end of the value; otherwise nil is returned.
    mutating func takeQuoted(endsOpen: Bool = true) -> String? {
        guard take("\"") else { return nil }
        var bytes: [UInt8] = []
        while let byte = popFirst() {
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte == UInt8(ascii: "\\") ? popFirst() ?? byte : byte)
        }
        return endsOpen ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// Reads the value after a parameter's name: a quoted string, or the text up to one of `ends`. nil if there is no
    /// equals sign.
    mutating func takeArgument(until ends: String) -> String? {
        skipBlanks()
        guard take("=") else { return nil }
        skipBlanks()
        return takeQuoted() ?? take { !ends.utf8.contains($0) }.trimmed
    }

    /// Skips to the next semicolon outside a quoted string.
    fileprivate mutating func skipToSemicolon() {
        while let byte = first, byte != UInt8(ascii: ";") {
            if takeQuoted() == nil { removeFirst() }
        }
    }
}

extension String {
    /// The parameters after the first semicolon (section 5.6.6): names in lower case, and the first of each name counts.
    /// Malformed text is skipped up to the next semicolon.
    var parameters: [String: String] {
        var rest = self[...].utf8
        var parameters: [String: String] = [:]
        rest.skipToSemicolon()
        while rest.take(";") {
            let name = rest.take { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }.trimmed.lowercased()
            if let value = rest.takeArgument(until: ";"), !name.isEmpty, parameters[name] == nil {
                parameters[name] = value
            }
            rest.skipToSemicolon()
        }
        return parameters
    }
}

/// Of ASCII.
extension UInt8 {
    var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
    var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
}

extension StringProtocol {
    /// Without blanks and tabs at either end (section 5.6.3).
    var trimmed: String {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let bytes = Substring(self).utf8
        guard let head = bytes.first, let tail = bytes.last, isBlank(head) || isBlank(tail) else { return String(self) }
        guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(Substring(bytes[first...last]))
    }

    /// Whether it is a number without a sign.
    var isDigits: Bool { !isEmpty && utf8.allSatisfy(\.isDigit) }
}

extension ResponseHead {
    /// The members of a list (section 5.6.1), in lower case; none is empty.
    func list(_ name: String) -> [String] {
        members(name).map { Substring($0).trimmed.lowercased() }.filter { !$0.isEmpty }
    }

    /// The members `name=value` of a list; the names are in lower case.
    func pairs(_ name: String) -> [(name: String, value: String)] {
        members(name).compactMap { member in
            guard let equals = member.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let value = Substring(member[member.index(after: equals)...]).trimmed
            return (Substring(member[..<equals]).trimmed.lowercased(), value)
        }
    }

    /// Bytes, not characters: a combining mark must not hide a comma.
    private func members(_ name: String) -> [Substring.UTF8View] {
        values(name).flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
    }
}
