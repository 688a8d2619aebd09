import CLinux
import Glibc
import TransferModel

/// Says what becomes of a body that came coded in spite of `Accept-Encoding: identity`.
package enum ContentDecoding: Hashable, Sendable {
    /// The bytes are delivered as they came.
    case keep
    case gzip
    case deflate

    /// - Parameters:
    ///   - coding: Content-Encoding, or nil for none (RFC 9110 section 8.4).
    ///   - name: the final file name; where it says the coding already (`x.tar.gz`), the coded bytes are the file.
    package init(coding: String?, name: String) {
        let lowered = name.lowercased()
        switch coding?.lowercased().filter({ $0 != " " && $0 != "\t" }) {
        case "gzip", "x-gzip":
            let saysSo = [".gz", ".gzip", ".tgz", ".svgz", ".z", ".emz", ".taz"].contains { lowered.hasSuffix($0) }
            self = saysSo ? .keep : .gzip
        case "deflate": self = lowered.hasSuffix(".zz") || lowered.hasSuffix(".deflate") ? .keep : .deflate
        // br, zstd and lists of codings need more than zlib: the file is delivered coded.
        default: self = .keep
        }
    }

    /// Decodes `coded` into `plain`, which is truncated first. Blocks; run it in a `BlockingPool`.
    /// - Returns: bytes written.
    /// - Throws: `integrity.length` where the coded data ends early, `http.protocol` where it is not of that coding,
    ///   `cancelled`, `disk.*`.
    package func decode(
        coded: Int32, into plain: Int32, path: String, isCancelled: () -> Bool = { false }
    ) throws(TransferError) -> ByteCount {
        if ftruncate(plain, 0) != 0 { throw .destination(errno: errno, "write", path) }
        var sink = DecodedSink(file: plain, path: path)
        var inflater: Inflater?
        try readAll(of: coded, path: path, isCancelled: isCancelled) { (bytes) throws(TransferError) in
            if self == .keep { return try sink.write(bytes) }
            if inflater == nil { inflater = try Inflater(isGzip: self == .gzip, first: bytes) }
            try inflater?.decode(bytes) { (decoded) throws(TransferError) in try sink.write(decoded) }
        }
        guard self == .keep || (inflater?.isComplete ?? false) else {
            throw TransferError(.integrityLength, "The coded body ends before its end mark.")
        }
        return sink.written
    }
}

private struct DecodedSink {
    let file: Int32
    let path: String
    var written: ByteCount = 0

    init(file: Int32, path: String) {
        self.file = file
        self.path = path
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TransferError) {
        var rest = bytes
        while !rest.isEmpty {
            let (count, code) = retrying { pwrite(file, rest.baseAddress, rest.count, off_t(written.rawValue)) }
            guard count > 0 else { throw .destination(errno: count == 0 ? EIO : code, "write", path) }
            written += ByteCount(Int64(count))
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }
}

/// zlib's inflate over a stream of buffers (RFC 1950, 1951, 1952).
private final class Inflater {
    private let state: OpaquePointer
    private let isGzip: Bool
    /// The end mark was read. Zeros may follow (padding), and further members where it is gzip.
    private(set) var isComplete = false

    init(isGzip: Bool, first: UnsafeRawBufferPointer) throws(TransferError) {
        self.isGzip = isGzip
        let start = first.bindMemory(to: UInt8.self)
        guard let state = dld_inflater_create(isGzip ? 1 : 0, start.baseAddress, start.count) else {
            throw TransferError(.internal, "No memory to decode the body.")
        }
        self.state = state
    }

    deinit { dld_inflater_destroy(state) }

    func decode(
        _ bytes: UnsafeRawBufferPointer, _ sink: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        let capacity = 1 << 18
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        defer { output.deallocate() }
        var rest = bytes
        while true {
            if isComplete, try !beginMember(rest) { return }
            var used = rest.count
            var produced = capacity
            let result = dld_inflater_step(
                state, rest.bindMemory(to: UInt8.self).baseAddress, &used,
                output.bindMemory(to: UInt8.self).baseAddress, &produced)
            if produced > 0 { try sink(UnsafeRawBufferPointer(rebasing: output[..<produced])) }
            rest = UnsafeRawBufferPointer(rebasing: rest[used...])
            switch Int(result) {
            case DLD_INFLATE_END: isComplete = true
            case DLD_INFLATE_MORE: if rest.isEmpty, produced < capacity { return }
            default: throw TransferError(.httpProtocol, "The body is not of the coding that the server said.")
            }
        }
    }

    /// True where another gzip member begins; anything else after the end mark is ignored, as gzip(1) does.
    private func beginMember(_ rest: UnsafeRawBufferPointer) throws(TransferError) -> Bool {
        guard isGzip, let first = rest.first, first == 0x1f else { return false }
        guard dld_inflater_reset(state) == Int32(DLD_INFLATE_MORE) else {
            throw TransferError(.internal, "The decoder could not be reset.")
        }
        isComplete = false
        return true
    }
}
