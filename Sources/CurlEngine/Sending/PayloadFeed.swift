import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel

/// Hands a payload to libcurl in order. Bytes of the file that are in the page cache are read by the thread that sends
/// them. A reader thread reads the rest while the previous piece is being sent.
///
/// A piece that another core has read must be fetched from that core's cache to be sent, which costs as much as reading
/// it. With many uploads, the memory of each is one small buffer, otherwise two large ones, and none as long as the
/// page cache has everything. Reads are checked against the file's identity, so no byte of another version is ever
/// sent. Everything except `fill` belongs to the reactor's thread.
///
/// The middle of a long body, `direct`, goes from the file to the socket, without libcurl and without a copy.
package final class PayloadFeed: @unchecked Sendable {
    package enum Read: Equatable {
        /// 0 = the payload's end.
        case bytes(Int)
        /// A piece is being read, or no buffer is free: `onChange` says when to ask again.
        case wait
        /// The next bytes are `direct`.
        case push
        case failed(ExchangeOutcome.End)
    }

    /// Reads bytes that need no waiting.
    typealias ReadCached = @Sendable (UploadSource, UnsafeMutableRawPointer, Int, Int64) -> Int?

    /// One piece of the source on its way into a buffer, or to a socket.
    private struct Piece: Sendable {
        var buffer: Buffer?
        var socket: BodySocket?
        var generation: Int
        /// Offset in the source.
        var offset: Int64
        var count: Int
    }

    private struct State {
        /// Counts rewinds: pieces of an earlier generation are dropped.
        var generation = 0
        var isReading = false
        var ready: Buffer?
        /// What was sent of the last piece for a socket; negative if that has failed.
        var pushed: Int?
        var failure: ExchangeOutcome.End?
        /// The reactor was told to wait.
        var isAwaited = false
        /// nil before `start`, and at the end.
        var onChange: (@Sendable () -> Void)?
    }

    /// Total bytes.
    package let length: Int64
    private let head: [UInt8]
    private let tail: [UInt8]
    private let sourceOffset: Int64
    private let sourceLength: Int64
    private let source: UploadSource?
    private let files: FileSide
    private let threads: DeviceThreads?
    private let readCached: ReadCached
    private let state = Guarded(State())

    private(set) var position: Int64 = 0
    private var current: Buffer?
    private var consumed = 0
    /// Where the next piece begins, counted from `sourceOffset`.
    private var nextRead: Int64 = 0
    /// Pieces for the reader thread before the page cache is asked again; otherwise a file on a disk would lose its
    /// read-ahead.
    private var piecesToRead = 0
    /// Bytes that a reader thread sends, counted from `sourceOffset`. libcurl sends those before, with the header, and
    /// those after.
    ///
    /// A page that is sent this way changes with the file until the other end has read it. That has happened when the
    /// file is checked after its last byte: `copiedEnd`.
    private(set) var direct: Range<Int64> = 0..<0
    /// Bytes of them that may have been sent and are not accounted for yet.
    private(set) var pushing = 0
    /// The socket takes no more: libcurl is to find out why.
    private var isBroken = false

    /// Bytes of the source before those that are `direct`: they show that libcurl has sent the header.
    static let copiedBeginning: Int64 = 64 << 10
    /// Bytes after them: more than the sockets of both ends hold.
    static let copiedEnd: Int64 = 64 << 20

    /// Bytes that a reader thread sends before other files have their turn.
    static let longestTurn = 4 << 20

    /// Pieces that the reader thread fetches after the page cache had nothing.
    static let piecesAtATime = 16

    init(
        _ payload: Payload, source: UploadSource?, files: FileSide,
        readCached: @escaping ReadCached = { $0.readCached(into: $1, $2, at: $3) }
    ) {
        self.source = source
        self.files = files
        self.readCached = readCached
        threads = source.map { files.devices.threads(for: $0.identity.device) }
        files.uploads.withLock { $0 += 1 }
        switch payload {
        case .none, .source: (head, tail) = ([], [])
        case .bytes(let bytes): (head, tail) = (bytes, [])
        case .framed(let first, _, _, let last): (head, tail) = (first, last)
        }
        sourceOffset = payload.sourceOffset?.rawValue ?? 0
        sourceLength = max(0, payload.sourceLength.rawValue)
        length = Int64(head.count + tail.count) + sourceLength
    }

    /// Bytes that were sent without libcurl.
    var pushed: Int64 { min(max(place, direct.lowerBound), direct.upperBound) - direct.lowerBound }
    /// The next byte, counted from `sourceOffset`.
    private var place: Int64 { position - Int64(head.count) }

    private func isDirect(_ place: Int64) -> Bool { !isBroken && direct.contains(place) }

    deinit { files.uploads.withLock { $0 -= 1 } }

    /// Decides which bytes of the next request are `direct`.
    func allowDirect(_ isAllowed: Bool) {
        let (first, last) = (Self.copiedBeginning, sourceLength - Self.copiedEnd)
        direct = isAllowed && source != nil && first < last ? first..<last : 0..<0
    }

    /// Begins to read. `onChange` may be called on any thread.
    package func start(onChange: @escaping @Sendable () -> Void) {
        state.withLock { $0.onChange = onChange }
        prefetch()
    }

    /// Gives back its buffers; a piece that is still being read comes back when the disk answers.
    package func end() {
        state.withLock { $0.onChange = nil }
        forgetPieces()
    }

    private func forgetPieces() {
        let ready = state.withLock { state in
            defer { (state.ready, state.pushed) = (nil, nil) }
            state.generation += 1
            return state.ready
        }
        [ready, current].forEach(files.buffers.release)
        (current, pushing, isBroken) = (nil, 0, false)
    }

    // MARK: Reading

    /// Copies the next bytes, at most `room`.
    package func read(into target: UnsafeMutableRawPointer, _ room: Int) -> Read {
        var done = 0
        while done < room, position < length, !isDirect(place) {
            let count = copyNext(target + done, room - done)
            if count == 0 { break }
            position += Int64(count)
            done += count
        }
        if done > 0 || position == length { return .bytes(done) }
        if isDirect(place) { return .push }
        let (failure, arrived, isIdle) = state.withLock { state in
            state.isAwaited = state.ready == nil
            return (state.failure, state.ready != nil, !state.isReading)
        }
        if let failure { return .failed(failure) }
        // The reader brought the buffer since it was last looked for, or finished a piece from before a seek, and would
        // never call.
        if arrived || isIdle && asksCache { return read(into: target, room) }
        if isIdle { prefetch() }
        return .wait
    }

    private func copyNext(_ target: UnsafeMutableRawPointer, _ room: Int) -> Int {
        let offset = place
        if offset < 0 { return Self.copy(head, from: Int(position), to: target, room) }
        if offset >= sourceLength { return Self.copy(tail, from: Int(offset - sourceLength), to: target, room) }
        guard let buffer = nextBuffer() else {
            return copyCached(target, Int(min(Int64(room), readEnd(offset) - offset)), at: offset)
        }
        let count = min(room, buffer.count - consumed)
        target.copyMemory(from: buffer.bytes + consumed, byteCount: count)
        consumed += count
        if consumed == buffer.count {
            files.buffers.release(buffer)
            current = nil
            prefetch()
        }
        return count
    }

    /// Reads on this thread if no piece is ready or being read; returns 0 if the reader thread must read.
    private func copyCached(_ target: UnsafeMutableRawPointer, _ count: Int, at offset: Int64) -> Int {
        guard let source, asksCache, state.withLock({ !$0.isReading && $0.ready == nil && $0.failure == nil }) else {
            return 0
        }
        guard let count = readCached(source, target, count, sourceOffset + offset) else {
            piecesToRead = Self.piecesAtATime
            prefetch()
            return 0
        }
        if count == 0 { state.withLock { $0.failure = .stopped(.failure(source.changed(), retryAfter: nil)) } }
        nextRead = offset + Int64(count)
        return count
    }

    /// Where bytes end that may be read together with this one.
    private func readEnd(_ offset: Int64) -> Int64 { offset < direct.lowerBound ? direct.lowerBound : sourceLength }

    private var asksCache: Bool { source != nil && piecesToRead == 0 }

    private static func copy(_ bytes: [UInt8], from: Int, to target: UnsafeMutableRawPointer, _ room: Int) -> Int {
        let count = min(room, bytes.count - from)
        bytes.withUnsafeBytes {
            if let base = $0.baseAddress { target.copyMemory(from: base + from, byteCount: count) }
        }
        return count
    }

    private func nextBuffer() -> Buffer? {
        if let current { return current }
        let ready = state.withLock { state in
            defer { state.ready = nil }
            return state.ready
        }
        current = ready
        consumed = 0
        // A small buffer is soon empty, and the bytes that libcurl and the system took of it last while it is refilled.
        // If there is no buffer, a piece from before a seek may have come instead.
        if ready?.capacity != BufferPool.smallSize { prefetch() }
        return ready
    }

    /// Has the next piece read, unless one is being read, no buffer is free or the page cache is asked first.
    func prefetch() {
        guard let threads, nextRead < sourceLength, !isDirect(nextRead), !asksCache else { return }
        let (mayRead, generation) = state.withLock { state in
            (!state.isReading && state.ready == nil && state.failure == nil && state.onChange != nil, state.generation)
        }
        let left = readEnd(nextRead) - nextRead
        let wanted = Int(min(Int64(files.uploadPiece), left))
        guard mayRead, let buffer = files.buffers.acquire(wanted > BufferPool.smallSize ? .large : .small) else {
            return
        }
        // If less is wanted than fits, the rest of the buffer is never touched and costs nothing.
        let count = min(buffer.capacity, wanted)
        let piece = Piece(buffer: buffer, generation: generation, offset: sourceOffset + nextRead, count: count)
        nextRead += Int64(count)
        piecesToRead = max(0, piecesToRead - 1)
        state.withLock { $0.isReading = true }
        threads.reader.post { self.fill(piece) }
    }

    // MARK: Sending without libcurl

    /// Has the next bytes sent, at most `most`.
    func push(to socket: BodySocket, atMost most: Int) -> Read {
        let (failure, isBusy, generation) = state.withLock { state in
            state.isAwaited = true
            defer { if state.failure == nil { state.isReading = true } }
            return (state.failure, state.isReading, state.generation)
        }
        if let failure { return .failed(failure) }
        guard !isBusy, let threads else { return .wait }
        pushing = Int(min(Int64(most), direct.upperBound - place))
        let piece = Piece(socket: socket, generation: generation, offset: sourceOffset + place, count: pushing)
        threads.reader.post { self.fill(piece) }
        return .wait
    }

    /// Accounts for what was sent without libcurl. Returns how many bytes; nil if there is no news.
    func collect() -> Int? {
        let sent = state.withLock { state in
            defer { state.pushed = nil }
            return state.pushed
        }
        guard let sent else { return nil }
        (pushing, isBroken) = (0, sent < 0)
        position += Int64(max(0, sent))
        nextRead = place
        return max(0, sent)
    }

    /// Moves to a byte of the payload, backward or forward. Returns false if there is no such byte.
    func seek(to offset: Int64) -> Bool {
        guard offset >= 0, offset <= length else { return false }
        guard offset != position else { return true }
        forgetPieces()
        position = offset
        nextRead = min(max(0, offset - Int64(head.count)), sourceLength)
        prefetch()
        return true
    }

    // MARK: The reader's side

    /// Reads or sends a piece; on a reader thread.
    private func fill(_ piece: Piece) {
        let wanted = state.withLock { $0.generation == piece.generation }
        var pushed: Int?
        let failure = wanted ? load(piece, &pushed) : nil
        let (stale, notify) = state.withLock { state in
            state.isReading = false
            let stale = state.generation != piece.generation
            if !stale {
                state.failure = failure
                if failure == nil { (state.ready, state.pushed) = (piece.buffer, pushed) }
            }
            defer { state.isAwaited = false }
            return (stale, state.isAwaited || failure != nil ? state.onChange : nil)
        }
        if stale || failure != nil { files.buffers.release(piece.buffer) }
        notify?()
    }

    private func load(_ piece: Piece, _ pushed: inout Int?) -> ExchangeOutcome.End? {
        guard let source else { return .local(errno: EBADF, operation: "read the source file") }
        if let socket = piece.socket {
            let count = dld_send_file(socket.fileDescriptor, source.fileDescriptor, piece.offset, piece.count)
            let isFull = count < 0 && (errno == EAGAIN || errno == EINTR)
            pushed = isFull ? 0 : count
            if count == 0 { return .stopped(.failure(source.changed(), retryAfter: nil)) }
        }
        while let buffer = piece.buffer, buffer.count < piece.count {
            let offset = off_t(piece.offset) + off_t(buffer.count)
            let count = pread(source.fileDescriptor, buffer.bytes + buffer.count, piece.count - buffer.count, offset)
            if count < 0 {
                if errno == EINTR { continue }
                return .local(errno: errno, operation: "read the source file")
            }
            if count == 0 { return .stopped(.failure(source.changed(), retryAfter: nil)) }
            buffer.count += count
        }
        // Afterwards: a write in the meantime shows in size or time.
        return source.identityNow() == source.identity ? nil : .stopped(.failure(source.changed(), retryAfter: nil))
    }
}
