import CLinux
import Glibc
import TransferCore
import TransferModel

/// Undoes the content codings of a body: of a download's at its delivery, of a data task's answer once all of it is there.
///
/// The errors of both: `http.protocol` if the body is not of that coding (retryable), if it is a bomb
/// (`ContentCodingRules.mostDecoded`), or if this machine lacks the coding's library; `integrity.length` if the coded
/// data ends early.
package struct ContentDecoding: Sendable {
    /// The outermost first.
    package let codings: [ContentCodingRules.Undoable]

    package init(_ codings: [ContentCodingRules.Undoable]) { self.codings = codings }

    /// The codings that this machine can undo, in the order in which they are asked for.
    package static let possible = ContentCodingRules.Undoable.allCases.filter { dld_can_decode($0.number) != 0 }

    /// Decodes `coded` into `plain`, which is truncated first. Blocks; run it in a `BlockingPool`.
    /// - Returns: bytes written.
    /// - Throws: as above; `cancelled`, `disk.*`. If the file system has no room, `plain` is emptied at once, and the
    ///   error's details say how much is needed (`neededMember`).
    package func decode(
        coded: Int32, into plain: Int32, path: String, isCancelled: @escaping () -> Bool = { false }
    ) throws(TransferError) -> ByteCount {
        if ftruncate(plain, 0) != 0 { throw .destination(errno: errno, "write", path) }
        guard let size = status(of: coded)?.st_size else { throw .destination(errno: errno, "look at", path) }
        let sink = DecodedFile(plain, path: path, isCancelled: isCancelled)
        let layers = DecodingLayers(codings, of: ByteCount(Int64(size))) { (bytes) throws(TransferError) in
            try sink.write(bytes)
        }
        try readAll(of: coded, path: path, isCancelled: isCancelled) { (bytes) throws(TransferError) in
            try layers.take(bytes)
        }
        try layers.end()
        if let refusal = sink.refusal { throw refusal }
        return sink.written
    }

    /// Decodes a body in memory.
    /// - Returns: nil if it is longer than `limit`.
    /// - Throws: as above.
    package func decode(_ coded: [UInt8], atMost limit: ByteCount) throws(TransferError) -> [UInt8]? {
        let sink = DecodedBytes(atMost: limit)
        let layers = DecodingLayers(codings, of: ByteCount(Int64(coded.count))) { (bytes) throws(TransferError) in
            try sink.take(bytes)
        }
        do throws(TransferError) {
            try coded.span.withUnsafeBytes { (bytes) throws(TransferError) in try layers.take(bytes) }
            try layers.end()
        } catch {
            if sink.isOver { return nil }
            throw error
        }
        return sink.bytes
    }

    /// Member of an error's details: bytes that must be free before another attempt at the decoding makes sense.
    package static let neededMember = "unfolded"
}

extension ContentCodingRules.Undoable {
    /// As CLinux counts them.
    fileprivate var number: Int32 {
        switch self {
        case .gzip: Int32(DLD_CODING_GZIP)
        case .deflate: Int32(DLD_CODING_DEFLATE)
        case .br: Int32(DLD_CODING_BROTLI)
        case .zstd: Int32(DLD_CODING_ZSTD)
        }
    }

    fileprivate var library: String {
        switch self {
        case .gzip, .deflate: "zlib"
        case .br: "libbrotlidec"
        case .zstd: "libzstd"
        }
    }
}

/// What one layer decodes goes to the next at once: of content that was packed twice nothing lies anywhere but the end.
private final class DecodingLayers {
    typealias Sink = (UnsafeRawBufferPointer) throws(TransferError) -> Void

    private let codings: [ContentCodingRules.Undoable]
    private let coded: ByteCount
    private let most: ByteCount
    private let sink: Sink
    private var decoders: [Decoder] = []
    /// Bytes that each layer gave.
    private var given: [ByteCount]
    private var isEmpty = true

    /// - Parameter coded: bytes of the whole coded body.
    init(_ codings: [ContentCodingRules.Undoable], of coded: ByteCount, into sink: @escaping Sink) {
        self.codings = codings
        self.coded = coded
        self.sink = sink
        most = ContentCodingRules.mostDecoded(of: coded)
        given = Array(repeating: .zero, count: codings.count)
    }

    func take(_ bytes: UnsafeRawBufferPointer) throws(TransferError) {
        isEmpty = isEmpty && bytes.isEmpty
        if !bytes.isEmpty { try take(bytes, at: 0) }
    }

    /// A body without a byte is empty in any coding: servers say one of answers that have none.
    func end() throws(TransferError) {
        guard isEmpty || decoders.count == codings.count && decoders.allSatisfy(\.isComplete) else {
            throw TransferError(.integrityLength, "The coded body ends before its end mark.")
        }
    }

    /// - Parameter layer: counted from the outermost.
    private func take(_ bytes: UnsafeRawBufferPointer, at layer: Int) throws(TransferError) {
        guard layer < codings.count else { return try sink(bytes) }
        if decoders.count == layer { decoders.append(try Decoder(codings[layer], first: bytes)) }
        try decoders[layer].decode(bytes) { (decoded) throws(TransferError) in
            given[layer] += ByteCount(Int64(decoded.count))
            guard given[layer] <= most else { throw bomb }
            try take(decoded, at: layer + 1)
        }
    }

    private var bomb: TransferError {
        let names = codings.map(\.rawValue).reversed().joined(separator: ", ")
        return TransferError(
            .httpProtocol,
            "The body, coded with \(names), has more than \(most) bytes in \(coded) and was taken for a decompression "
                + "bomb. If it is none, keep it coded: give the file the ending of its coding, such as .gz.",
            retryable: false, details: ["coded": .integer(coded.rawValue), "limit": .integer(most.rawValue)])
    }
}

/// Collects what is decoded.
private final class DecodedBytes {
    private let limit: Int
    private(set) var bytes: [UInt8] = []
    private(set) var isOver = false

    init(atMost limit: ByteCount) { self.limit = Int(clamping: limit.rawValue) }

    func take(_ more: UnsafeRawBufferPointer) throws(TransferError) {
        guard more.count <= limit - bytes.count else {
            isOver = true
            throw TransferError(.tooLarge, "The decoded body is longer than \(limit) bytes.")
        }
        bytes.append(contentsOf: more)
    }
}

/// Writes what is decoded.
private final class DecodedFile {
    private let file: Int32
    private let path: String
    /// A few bytes may become very many: the one who waits for them may have had enough.
    private let isCancelled: () -> Bool
    private(set) var written: ByteCount = 0
    /// The room ended, and after how many bytes: what follows is only counted.
    private var full: (errno: Int32, at: ByteCount)?

    /// What is counted beyond the room: some tens of seconds of work.
    private static let longestCount = ByteCount(64 << 30)

    init(_ file: Int32, path: String, isCancelled: @escaping () -> Bool) {
        self.file = file
        self.path = path
        self.isCancelled = isCancelled
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(TransferError) {
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

/// One coding's library over a stream of buffers.
private final class Decoder {
    private let state: OpaquePointer
    private let coding: ContentCodingRules.Undoable
    private let output: UnsafeMutableRawBufferPointer
    /// The end mark was read. Zeros may follow (padding), and further gzip members or zstd frames.
    private(set) var isComplete = false

    init(_ coding: ContentCodingRules.Undoable, first: UnsafeRawBufferPointer) throws(TransferError) {
        guard dld_can_decode(coding.number) != 0 else {
            throw TransferError(
                .httpProtocol,
                "The body is coded with \(coding.rawValue), and \(coding.library) is not installed here. Install it, or give "
                    + "the file the ending of its coding to keep it coded.", retryable: false)
        }
        let start = first.bindMemory(to: UInt8.self)
        guard let state = dld_decoder_create(coding.number, start.baseAddress, start.count) else {
            throw Self.noMemory
        }
        self.coding = coding
        self.state = state
        output = .allocate(byteCount: 1 << 18, alignment: 16)
    }

    deinit {
        dld_decoder_destroy(state)
        output.deallocate()
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, _ sink: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        var rest = bytes
        while true {
            if isComplete, try !beginMember(rest) { return }
            var used = rest.count
            var produced = output.count
            let result = dld_decoder_step(
                state, rest.bindMemory(to: UInt8.self).baseAddress, &used,
                output.bindMemory(to: UInt8.self).baseAddress, &produced)
            if produced > 0 { try sink(UnsafeRawBufferPointer(rebasing: output[..<produced])) }
            rest = UnsafeRawBufferPointer(rebasing: rest[used...])
            switch Int(result) {
            case DLD_DECODE_END: isComplete = true
            case DLD_DECODE_MORE where rest.isEmpty && produced < output.count: return
            case DLD_DECODE_MORE where used > 0 || produced > 0: continue
            case DLD_DECODE_MEMORY: throw Self.noMemory
            default:
                throw TransferError(
                    .httpProtocol, "The body is not of the coding that the server said (\(coding.rawValue)).",
                    retryable: true)
            }
        }
    }

    /// True if another member or frame begins; anything else after the end mark is ignored, as gzip(1) does.
    private func beginMember(_ rest: UnsafeRawBufferPointer) throws(TransferError) -> Bool {
        guard let first = rest.first, begins(first) else { return false }
        guard dld_decoder_reset(state) == Int32(DLD_DECODE_MORE) else {
            throw TransferError(.internal, "The decoder could not be reset.")
        }
        isComplete = false
        return true
    }

    /// Whether a member (RFC 1952 section 2.3.1) or a frame (RFC 8878 section 3.1) may begin so.
    private func begins(_ byte: UInt8) -> Bool {
        switch coding {
        case .gzip: byte == 0x1f
        case .zstd: byte == 0x28 || (0x50...0x5f).contains(byte)
        case .deflate, .br: false
        }
    }

    private static var noMemory: TransferError { TransferError(.internal, "No memory to decode the body.") }
}
