import CLinux
import Crypto
import Glibc
import TransferModel

/// Computes several digests of one stream of bytes at once.
package struct FileHasher {
    private var md5: Insecure.MD5?
    private var sha1: Insecure.SHA1?
    private var sha256: SHA256?
    private var sha384: SHA384?
    private var sha512: SHA512?

    package init(_ algorithms: Set<DigestAlgorithm>) {
        for algorithm in algorithms {
            switch algorithm {
            case .md5: md5 = Insecure.MD5()
            case .sha1: sha1 = Insecure.SHA1()
            case .sha256: sha256 = SHA256()
            case .sha384: sha384 = SHA384()
            case .sha512: sha512 = SHA512()
            }
        }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        md5?.update(bufferPointer: bytes)
        sha1?.update(bufferPointer: bytes)
        sha256?.update(bufferPointer: bytes)
        sha384?.update(bufferPointer: bytes)
        sha512?.update(bufferPointer: bytes)
    }

    /// Lower-case hexadecimal, by algorithm.
    package func finish() -> [DigestAlgorithm: String] {
        var result: [DigestAlgorithm: String] = [:]
        result[.md5] = md5.map { hexadecimal($0.finalize()) }
        result[.sha1] = sha1.map { hexadecimal($0.finalize()) }
        result[.sha256] = sha256.map { hexadecimal($0.finalize()) }
        result[.sha384] = sha384.map { hexadecimal($0.finalize()) }
        result[.sha512] = sha512.map { hexadecimal($0.finalize()) }
        return result
    }

    /// Reads the file once from its beginning. Blocks; run it in a `BlockingPool`.
    /// - Parameters:
    ///   - file: an open descriptor; its position is neither used nor changed.
    ///   - path: for messages.
    ///   - isCancelled: asked once a megabyte.
    /// - Throws: `cancelled`, `disk.io`.
    package static func digests(
        of file: Int32, path: String, _ algorithms: Set<DigestAlgorithm>, isCancelled: () -> Bool = { false }
    ) throws(TransferError) -> [DigestAlgorithm: String] {
        guard !algorithms.isEmpty else { return [:] }
        var hasher = FileHasher(algorithms)
        try readAll(of: file, path: path, isCancelled: isCancelled) { hasher.update($0) }
        return hasher.finish()
    }
}

extension FileHasher {
    /// CRC-32C of a whole file: tells an edited file from what was delivered.
    /// - Throws: `disk.io`.
    package static func checksum(of file: Int32, path: String) throws(TransferError) -> UInt32 {
        var checksum: UInt32 = 0
        try readAll(of: file, path: path, isCancelled: { false }) {
            checksum = dld_crc32c(checksum, $0.baseAddress, $0.count)
        }
        return checksum
    }
}

/// Hands a file's bytes to `body`, a megabyte at a time.
/// - Throws: `cancelled`, `disk.io`, and what `body` throws.
/// - Parameter length: bytes at most; a file that ends before is no error.
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

private func hexadecimal(_ digest: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in digest {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}
