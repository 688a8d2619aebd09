extension StringProtocol {
    /// Calls `body` with the UTF-8 bytes in memory, where a loop costs a tenth of a loop over `utf8`.
    @inlinable
    package func bytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        return Array(utf8).withUnsafeBufferPointer(body)
    }

    /// Whether one of the UTF-8 bytes equals `byte`.
    @inlinable
    package func holds(_ byte: UInt8) -> Bool { bytes { $0.contains(byte) } }
}

extension String {
    /// The texts joined, in one allocation.
    package static func joining(_ parts: String...) -> String {
        String(unsafeUninitializedCapacity: parts.reduce(0) { $0 + $1.utf8.count }) { room in
            var count = 0
            for part in parts {
                part.bytes { bytes in
                    if let place = room.baseAddress, let source = bytes.baseAddress {
                        (place + count).initialize(from: source, count: bytes.count)
                    }
                    count += bytes.count
                }
            }
            return count
        }
    }
}
