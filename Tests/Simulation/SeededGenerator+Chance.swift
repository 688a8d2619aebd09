import TestSupport

extension SeededGenerator {
    /// Returns a number from 0 up to, but not including, `bound`.
    mutating func below(_ bound: Int) -> Int { bound > 0 ? Int(next() % UInt64(bound)) : 0 }

    /// Returns true in `perMille` of a thousand cases.
    mutating func chance(_ perMille: Int) -> Bool { below(1000) < perMille }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0) } }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Returns the length of a file: zero, some, or many bytes.
    mutating func fileLength() -> Int {
        [0, 1 + below(4096), below(65537), 65_000 + below(250_000), 300_000 + below(500_000)][below(5)]
    }
}
