import FoundationEssentials

/// Base64 (RFC 4648 section 4), the form of bodies on the wire.
package enum Base64Text {
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
    package static func decode(_ text: String) -> [UInt8] { Data(base64Encoded: text).map { Array($0) } ?? [] }
}
