import FoundationEssentials

/// How values become JSON text and back, on the wire and in the store.
///
/// A daemon that accepts 50,000 tasks a second cannot spend 25 µs on each in a general coder. Types stay `Codable` and
/// list their members once; the coder behind them is fast. Values contain no `Date`, `Data`, `URL` or `Decimal`, for
/// which the coders of FoundationEssentials have forms of their own.
package enum JSONCoding {
    /// Compact text, with members in the order in which the type writes them.
    /// - Throws: what the value throws; `EncodingError` for numbers that JSON does not have.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let writer = JSONTextWriter()
        try writer.write(value)
        if writer.isUnusual {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.withoutEscapingSlashes]
            return Array(try encoder.encode(value))
        }
        return writer.bytes
    }

    /// - Parameters:
    ///   - lenient: ignores members that the type does not know.
    ///   - refusesDuplicates: whether an object with two members of one name is refused.
    /// - Throws: what `JSONDecoder` throws for the same text with plain numbers (`JSONNumbers`): `DecodingError`, or
    ///   what the type throws.
    package static func decode<T: Decodable>(
        _ type: T.Type = T.self, from text: [UInt8], lenient: Bool = false, refusesDuplicates: Bool = false
    ) throws -> T {
        // The quick decoder never accepts text with duplicates.
        let (value, refused) = quickly(type, text, lenient)
        if let value { return value }
        if refusesDuplicates, let path = JSONTape(text)?.duplicate() {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: path, debugDescription: "it is given twice; give it once."))
        }
        // JSONDecoder terminates the process if a text ends in its 512th open bracket.
        guard isShallow(text) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "More than \(deepest) levels deep.")
            )
        }
        let decoder = JSONDecoder()
        if lenient, let key = CodingUserInfoKey.acceptsUnknownFields { decoder.userInfo[key] = true }
        do {
            return try decoder.decode(type, from: Data(JSONNumbers.plain(text)))
        } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
            throw DecodingError.dataCorrupted(refused ?? context)
        }
    }

    /// Half of JSONDecoder's limit, and far more than any value of ours needs.
    private static let deepest = 256

    /// Whether at most `deepest` brackets are open at a time, in any text.
    private static func isShallow(_ text: [UInt8]) -> Bool {
        var (depth, isInString, isEscaped) = (0, false, false)
        for byte in text {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
            if depth > deepest { return false }
        }
        return true
    }

    /// - Returns: nil if the other decoder must judge, with the number or text that it may refuse: it reports neither
    ///   what that is nor where.
    private static func quickly<T: Decodable>(
        _ type: T.Type, _ text: [UInt8], _ lenient: Bool
    ) -> (value: T?, refused: DecodingError.Context?) {
        guard let tape = JSONTape(text) else { return (nil, nil) }
        let reader = TapeReader(tape, isLenient: lenient)
        guard let value = try? reader.decode(type, at: 0), !reader.isUnusual else { return (nil, reader.refusal) }
        return (value, nil)
    }
}
