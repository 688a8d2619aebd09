import FoundationEssentials

/// Base64 (RFC 4648) as header fields, data URLs and the wire carry it.
package enum Base64 {
    /// nil if the text is not base64; missing padding is tolerated.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var padded = String(text)
        while padded.utf8.count % 4 != 0 { padded += "=" }
        return Data(base64Encoded: padded).map { Array($0) }
    }

    /// Length of the text for this many bytes, padding included.
    package static func length(of count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Writes the text of `bytes` (RFC 4648 section 4), with padding, and returns its length. It encodes twelve bits at
    /// a time, because streams are encoded as they arrive.
    /// - Parameter text: has room for `length(of:)`.
    @discardableResult
    package static func encode(_ bytes: UnsafeRawBufferPointer, into text: UnsafeMutableRawBufferPointer) -> Int {
        let whole = bytes.count / 3
        pairs.withUnsafeBufferPointer { pairs in
            guard let table = pairs.baseAddress, var source = bytes.baseAddress, var target = text.baseAddress else {
                return
            }
            for _ in 0..<whole {
                let (first, second, third) = (
                    Int(source.load(as: UInt8.self)), Int(source.load(fromByteOffset: 1, as: UInt8.self)),
                    Int(source.load(fromByteOffset: 2, as: UInt8.self))
                )
                target.storeBytes(of: table[first << 4 | second >> 4], as: UInt16.self)
                target.storeBytes(of: table[(second & 15) << 8 | third], toByteOffset: 2, as: UInt16.self)
                source += 3
                target += 4
            }
        }
        let rest = bytes.count - whole * 3
        guard rest > 0 else { return whole * 4 }
        let first = Int(bytes[whole * 3]), second = rest > 1 ? Int(bytes[whole * 3 + 1]) : 0
        let end = [
            alphabet[first >> 2], alphabet[(first & 3) << 4 | second >> 4],
            rest > 1 ? alphabet[(second & 15) << 2] : UInt8(ascii: "="), UInt8(ascii: "="),
        ]
        for (index, byte) in end.enumerated() { text[whole * 4 + index] = byte }
        return whole * 4 + 4
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The two characters for each value of twelve bits, the first in the byte that is stored first.
    private static let pairs: [UInt16] = (0..<4096).map { bits in
        UInt16(littleEndian: UInt16(alphabet[bits >> 6]) | UInt16(alphabet[bits & 63]) << 8)
    }
}

extension [UInt8] {
    /// With padding (RFC 4648 section 4).
    package var base64: String {
        String(unsafeUninitializedCapacity: Base64.length(of: count)) { text in
            withUnsafeBytes { Base64.encode($0, into: UnsafeMutableRawBufferPointer(text)) }
        }
    }
}
