import Crypto
import TestSupport
import TransferModel

extension Content {
    /// SHA-256 as a task's `checksum`.
    var checksum: JSONValue { Self.checksum(of: bytes[...]) }

    static func checksum(of bytes: ArraySlice<UInt8>) -> JSONValue {
        ["algorithm": "sha-256", "value": .string(hexDigest(of: bytes))]
    }

    static func hexDigest(of bytes: ArraySlice<UInt8>) -> String {
        SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// SHA-256 as `Repr-Digest` has it.
    var base64Digest: String { Base64Text.encode(Array(SHA256.hash(data: bytes))) }
}
