import Foundation
import TransferModel

/// JSON as Foundation reads it. Tests that read what dld writes use it, because dld's own reader could share a fault with
/// its writer.
package enum ForeignJSON {
    /// - Throws: `DecodingError`.
    package static func value(_ text: some Collection<UInt8>) throws -> JSONValue {
        let data = Data(text)
        let guess = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
        return try JSONDecoder().decode(Value.self, from: data, configuration: guess).value
    }

    /// Foundation's decoder tells the type of a value only by errors, and Swift Testing takes a backtrace of each error,
    /// which costs more than everything else that a test does. So the type is guessed from what `JSONSerialization` has
    /// read, which rounds some numbers and takes the last of equal names.
    private struct Value: Decodable, DecodableWithConfiguration {
        let value: JSONValue

        init(from decoder: any Decoder, configuration guess: Any?) throws {
            if let value = try? Self.value(decoder, guess) {
                self.value = value
            } else {
                self = try Self(from: decoder)
            }
        }

        /// - Throws: an error if the guess is wrong.
        private static func value(_ decoder: any Decoder, _ guess: Any?) throws -> JSONValue? {
            switch guess {
            case is String: return .string(try decoder.singleValueContainer().decode(String.self))
            case let guesses as [Any]:
                var list = try decoder.unkeyedContainer()
                return .array(try guesses.map { try list.decode(Self.self, configuration: $0).value })
            case let guesses as [String: Any]:
                let members = try decoder.container(keyedBy: Name.self)
                let values = try members.allKeys.map { name in
                    let guess = guesses[name.stringValue]
                    return (name.stringValue, try members.decode(Self.self, forKey: name, configuration: guess).value)
                }
                return .object(Dictionary(values) { $1 })
            case let number as NSNumber:
                let container = try decoder.singleValueContainer()
                // Only truth values have this type.
                if UInt8(bitPattern: number.objCType.pointee) == UInt8(ascii: "c") {
                    return .bool(try container.decode(Bool.self))
                }
                if let integer = try? container.decode(Int64.self) { return .integer(integer) }
                return .number(try container.decode(Double.self))
            default: return nil
            }
        }

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

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
