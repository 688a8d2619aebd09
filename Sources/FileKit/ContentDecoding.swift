import CLinux
import Glibc
import TransferCore
import TransferModel

/// Decodes the content codings of a body: a download's at its delivery, and a data task's answer when it is complete or
/// as it arrives (`StreamedDecoding`).
///
/// All functions throw `http.protocol` if the body does not have that coding (retryable), if it is a decompression bomb
/// (`ContentCodingRules.mostDecoded`), or if this machine lacks the coding's library; `integrity.length` if the coded
/// data ends early.
package struct ContentDecoding: Sendable {
    /// Outermost first.
    package let codings: [ContentCodingRules.Undoable]

    package init(_ codings: [ContentCodingRules.Undoable]) { self.codings = codings }

    /// The codings that this machine can decode, in the order in which they are requested.
    package static let possible = ContentCodingRules.Undoable.allCases.filter { dld_can_decode($0.number) != 0 }

    /// Decodes `coded` into `plain`, which is truncated first. Blocks: run it in a `BlockingPool`.
    /// - Parameter told: called with the number of decoded bytes after each piece.
    /// - Returns: the number of bytes written.
    /// - Throws: as above; `cancelled`, `disk.*`. If the file system has no room, `plain` is emptied at once, and the
    ///   error's details say how much is needed (`neededMember`).
    package func decode(
        coded: Int32, into plain: Int32, path: String, isCancelled: @escaping () -> Bool = { false },
        told: (ByteCount) -> Void = { _ in }
    ) throws(TransferError) -> ByteCount {
        if ftruncate(plain, 0) != 0 { throw .destination(errno: errno, "write", path) }
        guard let size = status(of: coded)?.st_size else { throw .destination(errno: errno, "look at", path) }
        let sink = DecodedFile(plain, path: path, isCancelled: isCancelled)
        let layers = DecodingLayers(codings, of: ByteCount(Int64(size)))
        try readAll(of: coded, path: path, isCancelled: isCancelled) { (bytes) throws(TransferError) in
            try layers.decode(bytes) { (decoded) throws(TransferError) in
                try sink.write(decoded)
                told(sink.written)
            }
        }
        try layers.end()
        if let refusal = sink.refusal { throw refusal }
        return sink.written
    }

    /// Decodes a body in memory. What is longer than `limit` is a bomb if the coded bytes that it came from would be one.
    /// - Returns: nil if the decoded body is longer than `limit` otherwise.
    /// - Throws: as above.
    package func decode(_ coded: [UInt8], atMost limit: ByteCount) throws(TransferError) -> [UInt8]? {
        let layers = DecodingLayers(codings, of: ByteCount(Int64(coded.count)))
        var plain: [UInt8] = []
        let fits = try coded.span.withUnsafeBytes { (bytes) throws(TransferError) -> Bool in
            var rest = bytes
            while let decoded = try layers.next(&rest) {
                let length = ByteCount(Int64(plain.count + decoded.count))
                guard length <= limit else {
                    try layers.requireNoBomb(length, in: ByteCount(Int64(coded.count - rest.count)))
                    return false
                }
                plain.append(contentsOf: decoded)
            }
            return true
        }
        guard fits else { return nil }
        try layers.end()
        return plain
    }

    /// A member of an error's details: the bytes that must be free before decoding is worth another attempt.
    package static let neededMember = "unfolded"
}

extension ContentCodingRules.Undoable {
    /// The number of the coding in CLinux.
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

/// Decodes the content codings of a body as it arrives, only as far as the decoded bytes are taken. It throws the
/// errors of `ContentDecoding`. A bomb is recognised by the coded bytes received so far. Use it on one thread at a
/// time.
package final class StreamedDecoding: @unchecked Sendable {
    private let layers: DecodingLayers
    /// Decoded bytes that are not taken yet. Valid until the layers continue.
    private var rest = UnsafeRawBufferPointer(start: nil, count: 0)

    /// - Parameter codings: outermost first.
    package init(_ codings: [ContentCodingRules.Undoable]) { layers = DecodingLayers(codings, of: .zero) }

    /// - Parameters:
    ///   - coded: the coded bytes that follow those already used.
    ///   - take: returns how many of the decoded bytes it took. If it takes fewer than offered, the call ends.
    /// - Returns: how many of the coded bytes were used; nil if nothing is left, neither coded nor decoded.
    /// - Throws: as above.
    package func decode(
        _ coded: UnsafeRawBufferPointer, taking take: (UnsafeRawBufferPointer) -> Int
    ) throws(TransferError) -> Int? {
        var left = coded
        layers.grow(by: coded.count)
        defer { layers.grow(by: -left.count) }
        repeat {
            if !rest.isEmpty {
                rest = UnsafeRawBufferPointer(rebasing: rest[take(rest)...])
                guard rest.isEmpty else { return coded.count - left.count }
            }
            guard let decoded = try layers.next(&left) else { return nil }
            rest = decoded
        } while true
    }

    /// Ends the body, because all coded bytes have come.
    /// - Throws: `integrity.length` if the end mark is missing.
    package func end() throws(TransferError) { try layers.end() }
}

/// The codings of one body. Each layer decodes the output of the one before it, a buffer at a time, and nothing else is
/// stored.
private final class DecodingLayers {
    private let codings: [ContentCodingRules.Undoable]
    private var coded: ByteCount
    private var decoders: [Decoder] = []
    /// What each layer got from the one before it and has not used yet.
    private var waiting: [UnsafeRawBufferPointer]
    /// The number of bytes that each layer has produced.
    private var given: [ByteCount]
    private var isEmpty = true

    /// - Parameter coded: the length of the whole coded body in bytes; 0 if it grows as bytes arrive.
    init(_ codings: [ContentCodingRules.Undoable], of coded: ByteCount) {
        self.codings = codings
        self.coded = coded
        given = Array(repeating: .zero, count: codings.count)
        waiting = Array(repeating: UnsafeRawBufferPointer(start: nil, count: 0), count: codings.count)
    }

    /// Adds to the number of coded bytes.
    func grow(by count: Int) { coded += ByteCount(Int64(count)) }

    func decode(
        _ bytes: UnsafeRawBufferPointer, into sink: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        var rest = bytes
        while let decoded = try next(&rest) { try sink(decoded) }
    }

    /// Returns the next decoded bytes, which are valid until the next call; nil if everything that came is decoded.
    /// - Parameter coded: the bytes that are not used yet.
    func next(_ coded: inout UnsafeRawBufferPointer) throws(TransferError) -> UnsafeRawBufferPointer? {
        isEmpty = isEmpty && coded.isEmpty
        return try next(&coded, of: codings.count - 1)
    }

    /// A body without any byte is empty in every coding: servers name a coding even for empty answers.
    func end() throws(TransferError) {
        guard isEmpty || decoders.count == codings.count && decoders.allSatisfy(\.isComplete) else {
            throw TransferError(
                .integrityLength, "The coded body ends before its end mark.",
                details: [TransferError.coding: .string(names)])
        }
    }

    /// - Parameter layer: counted from the outermost; -1 is the coded body.
    private func next(
        _ coded: inout UnsafeRawBufferPointer, of layer: Int
    ) throws(TransferError) -> UnsafeRawBufferPointer? {
        guard layer >= 0 else {
            defer { coded = UnsafeRawBufferPointer(start: nil, count: 0) }
            return coded.isEmpty ? nil : coded
        }
        while true {
            if decoders.count > layer, let decoded = try step(&coded, layer) {
                given[layer] += ByteCount(Int64(decoded.count))
                try requireNoBomb(given[layer], in: self.coded)
                return decoded
            }
            guard layer > 0 else {
                guard decoders.isEmpty, !coded.isEmpty else { return nil }
                decoders.append(try Decoder(codings[0], first: coded))
                continue
            }
            guard let before = try next(&coded, of: layer - 1) else { return nil }
            waiting[layer] = before
            if decoders.count == layer { decoders.append(try Decoder(codings[layer], first: before)) }
        }
    }

    private func step(
        _ coded: inout UnsafeRawBufferPointer, _ layer: Int
    ) throws(TransferError) -> UnsafeRawBufferPointer? {
        layer == 0 ? try decoders[0].next(&coded) : try decoders[layer].next(&waiting[layer])
    }

    private var names: String { codings.map(\.rawValue).reversed().joined(separator: ", ") }

    /// - Throws: `http.protocol` if so many bytes must not come out of the coded ones.
    func requireNoBomb(_ decoded: ByteCount, in coded: ByteCount) throws(TransferError) {
        let limit = ContentCodingRules.mostDecoded(of: coded)
        guard decoded > limit else { return }
        throw TransferError(
            .httpProtocol,
            "The body, coded with \(names), has more than \(limit) bytes in \(coded) and was taken for a decompression "
                + "bomb. If it is none, keep it coded: give the file the ending of its coding, such as .gz.",
            retryable: false,
            details: [
                "coded": .integer(coded.rawValue), "limit": .integer(limit.rawValue), TransferError.bombMember: true,
            ])
    }
}

/// Writes decoded bytes to a file.
private final class DecodedFile {
    private let file: Int32
    private let path: String
    /// A few coded bytes may become very many, so the caller may give up meanwhile.
    private let isCancelled: () -> Bool
    private(set) var written: ByteCount = 0
    /// Where the space ran out. What follows is only counted.
    private var full: (errno: Int32, at: ByteCount)?

    /// The most bytes that are counted after the space ran out, which takes some tens of seconds.
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
                // Others can use the space while the rest is counted.
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
        // The space was slightly less than what was written.
        let needed = max(written, full.at + Folder.leastRoom)
        error.details[ContentDecoding.neededMember] = .integer(needed.rawValue)
        return error
    }
}

/// One coding's library, applied to a stream of buffers.
private final class Decoder {
    private let state: OpaquePointer
    private let coding: ContentCodingRules.Undoable
    private let output: UnsafeMutableRawBufferPointer
    /// The end mark was read. Zeros (padding) and further gzip members or zstd frames may follow.
    private(set) var isComplete = false
    /// Something else followed, so no further member begins.
    private var isOver = false
    /// The last call filled the output buffer.
    private var mayHaveMore = false

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

    /// Returns the next decoded bytes, which are valid until the next call; nil if more coded bytes are needed.
    func next(_ rest: inout UnsafeRawBufferPointer) throws(TransferError) -> UnsafeRawBufferPointer? {
        while true {
            if isComplete, try !beginMember(rest) {
                isOver = isOver || !rest.isEmpty
                rest = UnsafeRawBufferPointer(start: nil, count: 0)
                return nil
            }
            guard !rest.isEmpty || mayHaveMore else { return nil }
            var (used, produced) = (rest.count, output.count)
            let result = dld_decoder_step(
                state, rest.bindMemory(to: UInt8.self).baseAddress, &used,
                output.bindMemory(to: UInt8.self).baseAddress, &produced)
            rest = UnsafeRawBufferPointer(rebasing: rest[used...])
            mayHaveMore = produced == output.count
            switch Int(result) {
            case DLD_DECODE_END: isComplete = true
            case DLD_DECODE_MORE where rest.isEmpty || used > 0 || produced > 0: break
            case DLD_DECODE_MEMORY: throw Self.noMemory
            case DLD_DECODE_WINDOW: throw Self.tooLargeWindow
            default:
                throw TransferError(
                    .httpProtocol, "The body is not in the coding that the server named (\(coding.rawValue)).",
                    retryable: true, details: [TransferError.coding: .string(coding.rawValue)])
            }
            if produced > 0 { return UnsafeRawBufferPointer(rebasing: output[..<produced]) }
        }
    }

    /// Returns true if another member or frame begins. Anything else after the end mark is ignored, as in gzip(1).
    private func beginMember(_ rest: UnsafeRawBufferPointer) throws(TransferError) -> Bool {
        guard !isOver, let first = rest.first, begins(first) else { return false }
        guard dld_decoder_reset(state) == Int32(DLD_DECODE_MORE) else {
            throw TransferError(.internal, "The decoder could not be reset.")
        }
        isComplete = false
        return true
    }

    /// Tells whether a member (RFC 1952 section 2.3.1) or a frame (RFC 8878 section 3.1) may begin with this byte.
    private func begins(_ byte: UInt8) -> Bool {
        switch coding {
        case .gzip: byte == 0x1f
        case .zstd: byte == 0x28 || (0x50...0x5f).contains(byte)
        case .deflate, .br: false
        }
    }

    private static let tooLargeWindow = TransferError(
        .httpProtocol,
        "The body is coded with zstd and a window of more than 8 MiB, the most that a content coding may have (RFC 9659). "
            + "Report it to the server's operator; with your own Accept-Encoding field you get the body as it is sent.",
        retryable: false)

    private static var noMemory: TransferError { TransferError(.internal, "No memory to decode the body.") }
}
