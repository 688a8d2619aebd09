/// What the consecutive pieces of a delivered file must hash to; the last one may be shorter.
public struct PieceDigests: Hashable, Sendable {
    public var algorithm: DigestAlgorithm
    /// Bytes of every piece but the last.
    public var length: ByteCount
    /// Hexadecimal, in order. The daemon's answers leave them out: they may be megabytes.
    public var values: [String]

    public init(algorithm: DigestAlgorithm, length: ByteCount, values: [String]) {
        self.algorithm = algorithm
        self.length = length
        self.values = values
    }
}

extension PieceDigests: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case algorithm, length, values
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        algorithm = try fields.required(.algorithm)
        length = try fields.required(.length)
        values = try fields.required(.values)
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = FieldWriter(encoder, CodingKeys.self)
        try fields.write(algorithm, .algorithm)
        try fields.write(length, .length)
        try fields.write(values, .values)
    }
}
