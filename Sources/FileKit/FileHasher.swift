import CCrypto
import CLinux
import Glibc
import TransferCore
import TransferModel

/// Computes several digests of one stream of bytes at once.
package final class FileHasher {
    /// Each algorithm, with its context in libcrypto (EVP_DigestInit(3ssl)).
    private let contexts: [(algorithm: DigestAlgorithm, context: OpaquePointer)]

    /// - Throws: `internal` if libcrypto lacks one of them.
    package init(_ algorithms: Set<DigestAlgorithm>) throws(TransferError) {
        var contexts: [(DigestAlgorithm, OpaquePointer)] = []
        for algorithm in algorithms {
            let context = EVP_MD_CTX_new()
            guard let context, let digest = Self.known[algorithm], EVP_DigestInit_ex(context, digest, nil) == 1
            else {
                EVP_MD_CTX_free(context)
                for each in contexts { EVP_MD_CTX_free(each.1) }
                throw TransferError(.internal, "OpenSSL cannot compute \(algorithm.rawValue) here.")
            }
            contexts.append((algorithm, context))
        }
        self.contexts = contexts
    }

    deinit {
        for each in contexts { EVP_MD_CTX_free(each.context) }
    }

    /// libcrypto's digests, from a separate context. The machine's OpenSSL configuration may refuse MD5 and SHA-1 (FIPS
    /// 140-3), but servers and users still use these to detect damage.
    nonisolated(unsafe) private static let known: [DigestAlgorithm: OpaquePointer] = {
        let library = OSSL_LIB_CTX_new()
        OSSL_PROVIDER_load(library, "default")
        return DigestAlgorithm.allCases.reduce(into: [:]) { $0[$1] = EVP_MD_fetch(library, $1.rawValue, nil) }
    }()

    package func update(_ bytes: UnsafeRawBufferPointer) {
        for each in contexts { EVP_DigestUpdate(each.context, bytes.baseAddress, bytes.count) }
    }

    /// The digests in lower-case hexadecimal, by algorithm. The hasher cannot be used any more.
    package func finish() -> [DigestAlgorithm: String] {
        Dictionary(uniqueKeysWithValues: contexts.map { ($0.algorithm, Hex.encode(Self.value(of: $0.context))) })
    }

    /// The digest of the concatenated pieces.
    /// - Throws: `internal`.
    package static func digest(
        _ algorithm: DigestAlgorithm, of pieces: [UInt8]...
    ) throws(TransferError) -> [UInt8] {
        let hasher = try FileHasher([algorithm])
        for piece in pieces { piece.withUnsafeBytes { hasher.update($0) } }
        return value(of: hasher.contexts[0].context)
    }

    private static func value(of context: OpaquePointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { bytes, count in
            var length: UInt32 = 0
            EVP_DigestFinal_ex(context, bytes.baseAddress, &length)
            count = Int(length)
        }
    }

    /// Reads the file once from its beginning. Blocks: run it in a `BlockingPool`.
    /// - Parameters:
    ///   - file: an open descriptor; its position is neither used nor changed.
    ///   - path: for messages.
    ///   - isCancelled: called once per mebibyte.
    /// - Throws: `cancelled`, `disk.io`, `internal`.
    package static func digests(
        of file: Int32, path: String, _ algorithms: Set<DigestAlgorithm>, isCancelled: () -> Bool = { false }
    ) throws(TransferError) -> [DigestAlgorithm: String] {
        guard !algorithms.isEmpty else { return [:] }
        let hasher = try FileHasher(algorithms)
        try readAll(of: file, path: path, isCancelled: isCancelled) { hasher.update($0) }
        return hasher.finish()
    }
}

extension FileHasher {
    /// The CRC-32C of a whole file, which distinguishes an edited file from the delivered one.
    /// - Throws: `disk.io`.
    package static func checksum(of file: Int32, path: String) throws(TransferError) -> UInt32 {
        var checksum: UInt32 = 0
        try readAll(of: file, path: path, isCancelled: { false }) {
            checksum = dld_crc32c(checksum, $0.baseAddress, $0.count)
        }
        return checksum
    }
}

/// Passes a file's bytes to `body`, one mebibyte at a time.
/// - Throws: `cancelled`, `disk.io`, and what `body` throws.
/// - Parameter length: the most bytes to read. A file may end earlier.
package func readAll(
    of file: Int32, path: String, from start: ByteCount = .zero, length: ByteCount = ByteCount(.max),
    isCancelled: () -> Bool,
    _ body: (UnsafeRawBufferPointer) throws(TransferError) -> Void
) throws(TransferError) {
    let size = 1 << 20
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
    defer { buffer.deallocate() }
    _ = posix_fadvise(file, 0, 0, Int32(POSIX_FADV_SEQUENTIAL))
    var offset = off_t(start.rawValue)
    var left = length.rawValue
    while left > 0 {
        if isCancelled() { throw TransferError(.cancelled, "The task was stopped while its file was read.") }
        let (count, code) = retrying { pread(file, buffer.baseAddress, Int(min(Int64(size), left)), offset) }
        guard count >= 0 else {
            throw TransferError.disk(errno: code, "read", path)
                ?? TransferError(.diskIO, "Cannot read \(path): \(errorText(code)).")
        }
        if count == 0 { return }
        try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        offset += off_t(count)
        left -= Int64(count)
    }
}
