import CLinux
import Glibc
import TransferCore
import TransferModel

/// Undoes the codings of a body that came coded in spite of `Accept-Encoding: identity`.
package struct ContentDecoding: Sendable {
    /// The outermost first.
    package let codings: [ContentCodingRules.Undoable]

    package init(_ codings: [ContentCodingRules.Undoable]) { self.codings = codings }

    /// Decodes `coded` into `plain`, which is truncated first. Blocks; run it in a `BlockingPool`.
    /// - Returns: bytes written.
    /// - Throws: `integrity.length` if the coded data ends early, `http.protocol` if it is not of that coding,
    ///   `cancelled`, `disk.*`. If the file system has no room, `plain` is emptied at once, and the error's details say how
    ///   much is needed (`neededMember`).
    package func decode(
        coded: Int32, into plain: Int32, path: String, isCancelled: @escaping () -> Bool = { false }
    ) throws(TransferError) -> ByteCount {
        if ftruncate(plain, 0) != 0 { throw .destination(errno: errno, "write", path) }
        let layers = DecodingLayers(codings, into: DecodedSink(file: plain, path: path, isCancelled: isCancelled))
        try readAll(of: coded, path: path, isCancelled: isCancelled) { (bytes) throws(TransferError) in
            try layers.take(bytes)
        }
        guard layers.isComplete else {
            throw TransferError(.integrityLength, "The coded body ends before its end mark.")
        }
        if let refusal = layers.sink.refusal { throw refusal }
        return layers.sink.written
    }

    /// Member of an error's details: bytes that must be free before another attempt at the decoding makes sense.
    package static let neededMember = "unfolded"
}

/// What one layer decodes goes to the next at once: of content that was packed twice nothing lies anywhere but the end.
private final class DecodingLayers {
    private let codings: [ContentCodingRules.Undoable]
    private var inflaters: [Inflater] = []
    private(set) var sink: DecodedSink

    init(_ codings: [ContentCodingRules.Undoable], into sink: DecodedSink) {
        self.codings = codings
        self.sink = sink
    }

    var isComplete: Bool { inflaters.count == codings.count && inflaters.allSatisfy(\.isComplete) }

    /// - Parameter layer: counted from the outermost.
    func take(_ bytes: UnsafeRawBufferPointer, at layer: Int = 0) throws(TransferError) {
        guard layer < codings.count else { return try sink.write(bytes) }
        if inflaters.count == layer {
            inflaters.append(try Inflater(isGzip: codings[layer] == .gzip, first: bytes))
        }
        try inflaters[layer].decode(bytes) { (decoded) throws(TransferError) in
            try take(decoded, at: layer + 1)
        }
    }
}

private struct DecodedSink {
    let file: Int32
    let path: String
    /// A few bytes may become very many: the one who waits for them may have had enough.
    let isCancelled: () -> Bool
    var written: ByteCount = 0
    /// The room ended, and after how many bytes: what follows is only counted.
    private var full: (errno: Int32, at: ByteCount)?

    /// What is counted beyond the room: some tens of seconds of work.
    private static let longestCount = ByteCount(64 << 30)

    init(file: Int32, path: String, isCancelled: @escaping () -> Bool) {
        self.file = file
        self.path = path
        self.isCancelled = isCancelled
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TransferError) {
        if isCancelled() { throw TransferError(.cancelled, "The decoding was stopped.") }
        var rest = bytes
        while !rest.isEmpty {
            if let full {
                written += ByteCount(Int64(rest.count))
                if written - full.at > Self.longestCount, let refusal { throw refusal }
                return
            }
            let (count, code) = retrying { pwrite(file, rest.baseAddress, rest.count, off_t(written.rawValue)) }
            if count < 0, code == ENOSPC || code == EDQUOT {
                full = (code, written)
                // Others have their room while the rest is counted.
                _ = ftruncate(file, 0)
                continue
            }
            guard count > 0 else { throw .destination(errno: count == 0 ? EIO : code, "write", path) }
            written += ByteCount(Int64(count))
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Why nothing was kept.
    var refusal: TransferError? {
        guard let full else { return nil }
        var error = TransferError.destination(errno: full.errno, "write", path)
        // There was not quite room for as much as was written.
        let needed = max(written, full.at + Folder.leastRoom)
        error.details[ContentDecoding.neededMember] = .integer(needed.rawValue)
        return error
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

    /// True if another gzip member begins; anything else after the end mark is ignored, as gzip(1) does.
    private func beginMember(_ rest: UnsafeRawBufferPointer) throws(TransferError) -> Bool {
        guard isGzip, let first = rest.first, first == 0x1f else { return false }
        guard dld_inflater_reset(state) == Int32(DLD_INFLATE_MORE) else {
            throw TransferError(.internal, "The decoder could not be reset.")
        }
        isComplete = false
        return true
    }
}
