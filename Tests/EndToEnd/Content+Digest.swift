import FileKit
import TestSupport
import TransferCore
import TransferModel

extension Content {
    /// The SHA-256 as the `checksum` of a task.
    var checksum: JSONValue { Self.checksum(of: bytes[...]) }

    static func checksum(of bytes: ArraySlice<UInt8>) -> JSONValue {
        ["algorithm": "sha-256", "value": .string(hexDigest(of: bytes))]
    }

    static func hexDigest(of bytes: ArraySlice<UInt8>) -> String {
        Hex.encode(sha256(Array(bytes)))
    }

    /// The SHA-256 in the form of `Repr-Digest`.
    var base64Digest: String { Base64Text.encode(Self.sha256(bytes)) }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] { (try? FileHasher.digest(.sha256, of: bytes)) ?? [] }
}
