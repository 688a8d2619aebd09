import Glibc

/// Bodies in HTTP's content codings, made by the usual programs.
package enum Packing {
    /// The command for each coding. Its result is next to the file, with the ending.
    private static let programs: [String: (argv: [String], ending: String)] = [
        "gzip": (["gzip", "-nf"], "gz"), "br": (["brotli", "-f", "-q", "5"], "br"),
        "zstd": (["zstd", "-q", "-f"], "zst"),
    ]

    /// - Parameter codings: as in Content-Encoding, innermost first. `deflate` is the raw format.
    package static func pack(_ bytes: [UInt8], _ codings: String) async throws -> [UInt8] {
        var packed = bytes
        for coding in codings.split(separator: ",").map({ $0.filter { $0 != " " } }) {
            packed = try await coding == "deflate" ? deflated(packed) : once(packed, coding)
        }
        return packed
    }

    private static func once(_ bytes: [UInt8], _ coding: String) async throws -> [UInt8] {
        guard let (argv, ending) = programs[coding] else { throw SupportError("nothing packs \(coding)") }
        let folder = try TemporaryFolder()
        try Files.write(folder.file("plain"), bytes)
        try await Program.require(argv + [folder.file("plain")])
        return try Files.read(folder.file("plain." + ending))
    }

    /// The bytes between a gzip member's header (10 bytes without a name) and its CRC and length.
    private static func deflated(_ bytes: [UInt8]) async throws -> [UInt8] {
        Array(try await once(bytes, "gzip").dropFirst(10).dropLast(8))
    }

    /// Random letters, which shrink to less than half when packed.
    package static func text(_ size: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            for offset in stride(from: 0, to: size, by: 8) {
                var letters = generator.next() & 0x0707_0707_0707_0707 | 0x6060_6060_6060_6060
                memcpy(start + offset, &letters, min(8, size - offset))
            }
            count = size
        }
    }
}
