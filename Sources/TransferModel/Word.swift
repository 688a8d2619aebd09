/// One of a closed set of words; the error for any other word lists the set.
public protocol Word: RawRepresentable, Codable, CaseIterable, Sendable where RawValue == String {}

extension Word {
    /// - Throws: `DecodingError` that names every word of the set.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let word = Self(rawValue: try container.decode(String.self)) else {
            let built = Self.allCases.filter { ($0 as? any PartlyBuilt)?.isBuilt ?? true }
            let words = built.map(\.rawValue).joined(separator: ", ")
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "give one of \(words).")
        }
        self = word
    }
}
