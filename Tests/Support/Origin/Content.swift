import Glibc

/// A body of any length with different bytes at every offset and for every seed. So two versions mixed together, or
/// bytes at a wrong offset, are always noticed.
package final class Content: Sendable {
    package let bytes: [UInt8]
    package var size: Int { bytes.count }

    package init(seed: UInt64, size: Int) {
        var generator = SeededGenerator(seed: seed &* 0x9e37_79b9_7f4a_7c15 &+ 1)
        var block = [UInt64](repeating: 0, count: 512)
        for index in block.indices { block[index] = generator.next() }
        bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            var offset = 0
            while offset < size {
                block[0] = UInt64(offset) ^ seed
                let length = min(4096, size - offset)
                block.withUnsafeBytes { source in
                    guard let from = source.baseAddress, let to = buffer.baseAddress else { return }
                    memcpy(to + offset, from, length)
                }
                offset += length
            }
            count = size
        }
    }

    package init(bytes: [UInt8]) { self.bytes = bytes }
    package convenience init(_ text: String) { self.init(bytes: Array(text.utf8)) }

    /// Tells whether the file contains exactly these bytes.
    package func matches(_ path: String) -> Bool { (try? Files.read(path)).map { identical($0, bytes) } ?? false }

    /// Tells whether the file contains exactly a beginning of these bytes.
    package func begins(with path: String) -> Bool {
        guard let found = try? Files.read(path) else { return false }
        return found.count <= bytes.count && found.elementsEqual(bytes[..<found.count])
    }
}

/// In a build that is not optimized, the library's `==` compares element by element, which takes seconds for megabytes.
package func == (one: [UInt8], other: [UInt8]) -> Bool { identical(one, other) }

package func identical(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count
        && one.withUnsafeBytes { one in
            other.withUnsafeBytes { other in
                guard let start = one.baseAddress, let otherStart = other.baseAddress else { return true }
                return memcmp(start, otherStart, one.count) == 0
            }
        }
}

/// Compared without printing every different byte.
extension Content: Equatable, CustomStringConvertible {
    package static func == (one: Content, other: Content) -> Bool { identical(one.bytes, other.bytes) }

    package var description: String {
        let sum = bytes.withUnsafeBytes { bytes in bytes.reduce(UInt32(5381)) { $0 &* 33 &+ UInt32($1) } }
        return "\(size) bytes that add up to \(sum)"
    }
}

/// One version of a resource, with the fields that the server sends about it.
package struct Resource: Sendable {
    package var content: Content
    /// With its quotation marks and, if it is weak, its `W/`.
    package var etag: String?
    package var lastModified: String?
    package var date: String?
    package var contentType = "application/octet-stream"
    /// Sent with every 200 and 206.
    package var headers: [(name: String, value: String)] = []

    package init(
        _ content: Content, etag: String? = nil, lastModified: String? = nil,
        date: String? = "Thu, 01 Jan 2026 12:00:00 GMT"
    ) {
        self.content = content
        self.etag = etag
        self.lastModified = lastModified
        self.date = date
    }

    /// A version whose strong entity tag is its seed.
    package static func version(_ seed: UInt64, size: Int) -> Resource {
        Resource(Content(seed: seed, size: size), etag: "\"v\(seed)\"")
    }

    package func with(_ name: String, _ value: String) -> Resource {
        var copy = self
        copy.headers.append((name, value))
        return copy
    }

    package var validators: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if let etag { fields.append(("ETag", etag)) }
        if let lastModified { fields.append(("Last-Modified", lastModified)) }
        if let date { fields.append(("Date", date)) }
        return fields
    }
}
