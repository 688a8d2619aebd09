import Foundation
import TransferModel

/// JSON as Foundation reads it. Tests that read what dld writes use it, because dld's own reader could share a fault with
/// its writer.
package enum ForeignJSON {
    /// - Throws: `DecodingError`.
    package static func value(_ text: some Collection<UInt8>) throws -> JSONValue {
        try JSONDecoder().decode(Value.self, from: Data(text)).value
    }

    private struct Value: Decodable {
        let value: JSONValue

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                value = .null
            } else if let bool = try? container.decode(Bool.self) {
                value = .bool(bool)
            } else if let integer = try? container.decode(Int64.self) {
                value = .integer(integer)
            } else if let number = try? container.decode(Double.self) {
                value = .number(number)
            } else if let text = try? container.decode(String.self) {
                value = .string(text)
            } else if let values = try? container.decode([Value].self) {
                value = .array(values.map(\.value))
            } else {
                value = .object(try container.decode([String: Value].self).mapValues(\.value))
            }
        }
    }
}
