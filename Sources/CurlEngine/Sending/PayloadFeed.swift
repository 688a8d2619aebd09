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
package final class PayloadFeed: @unchecked Sendable {
    package enum Read: Equatable {
        /// 0 = the payload's end.
        case bytes(Int)
        /// A piece is being read, or no buffer is free: `onChange` says when to ask again.
        case wait
        case failed(ExchangeOutcome.End)
    }

    struct Services: Sendable {
        var threads: DeviceThreads?
        var buffers: BufferPool
        /// Bytes to read at a time: the more uploads run, the fewer.
        var piece: @Sendable () -> Int
        /// A buffer came back after a request for one was refused.
        var onBuffersFreed: @Sendable () -> Void
        /// The feed is no longer in use.
        var onEnd: @Sendable () -> Void
        /// Reads bytes that need no waiting.
        var readCached: @Sendable (UploadSource, UnsafeMutableRawPointer, Int, Int64) -> UploadSource.CachedRead = {
            $0.readCached(into: $1, $2, at: $3)
        }
    }

    /// One piece of the source on its way into a buffer.
    struct Piece: Sendable {
        var buffer: Buffer
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
        var failure: ExchangeOutcome.End?
        /// The reactor was told to wait.
        var isAwaited = false
        var onChange: (@Sendable () -> Void)?
        var ended = false
    }

    /// Total bytes.
    package let length: Int64
    private let head: [UInt8]
    private let tail: [UInt8]
    private let sourceOffset: Int64
    private let sourceLength: Int64
    private let source: UploadSource?
    private let services: Services
    private let state = Guarded(State())

    private(set) var position: Int64 = 0
    private var current: Buffer?
    private var consumed = 0
    /// Where the next piece begins, counted from `sourceOffset`.
    private var nextRead: Int64 = 0
    /// Pieces for the reader thread before the page cache is asked again; otherwise a file on a disk would lose its
    /// read-ahead.
    private var piecesToRead = 0
    private var triesCache: Bool

    /// Pieces that the reader thread fetches after the page cache had nothing.
    static let piecesAtATime = 16

    init(_ payload: Payload, source: UploadSource?, services: Services) {
        self.source = source
        self.services = services
        triesCache = source != nil
        switch payload {
        case .none: (head, tail) = ([], [])
        case .bytes(let bytes): (head, tail) = (bytes, [])
        case .source: (head, tail) = ([], [])
        case .framed(let first, _, _, let last): (head, tail) = (first, last)
        }
        sourceOffset = payload.sourceOffset?.rawValue ?? 0
        sourceLength = max(0, payload.sourceLength.rawValue)
        length = Int64(head.count + tail.count) + sourceLength
    }

    /// Bytes that are worth handing out at a time with the present number of uploads.
    var piece: Int { services.piece() }

    /// Begins to read. `onChange` may be called on any thread.
    package func start(onChange: @escaping @Sendable () -> Void) {
        state.withLock { $0.onChange = onChange }
        prefetch()
    }

    /// Gives back its buffers; a piece that is still being read comes back when the disk answers.
    package func end() {
        let (ready, first) = state.withLock { state in
            defer {
                state.ready = nil
                state.onChange = nil
                state.ended = true
                state.generation += 1
            }
            return (state.ready, !state.ended)
        }
        [ready, current].forEach(recycle)
        current = nil
        if first { services.onEnd() }
    }

    // MARK: Reading

    /// Copies the next bytes, at most `room`.
    package func read(into target: UnsafeMutableRawPointer, _ room: Int) -> Read {
        var done = 0
        while done < room, position < length {
            let count = copyNext(target + done, room - done)
            if count == 0 { break }
            position += Int64(count)
            done += count
        }
        if done > 0 || position == length { return .bytes(done) }
        let (failure, arrived, isIdle) = state.withLock { state in
            state.isAwaited = state.ready == nil
            return (state.failure, state.ready != nil, !state.isReading)
        }
        if let failure { return .failed(failure) }
        // The reader brought the buffer since it was last looked for,
        if arrived { return read(into: target, room) }
        // or finished a piece from before a seek, and would never call.
        if isIdle, asksCache { return read(into: target, room) }
        if isIdle { prefetch() }
        return .wait
    }

    private func copyNext(_ target: UnsafeMutableRawPointer, _ room: Int) -> Int {
        let offset = position - Int64(head.count)
        if offset < 0 { return Self.copy(head, from: Int(position), to: target, room) }
        if offset >= sourceLength { return Self.copy(tail, from: Int(offset - sourceLength), to: target, room) }
        guard let buffer = nextBuffer() else {
            return copyCached(target, Int(min(Int64(room), sourceLength - offset)), at: offset)
        }
        let count = min(room, buffer.count - consumed)
        target.copyMemory(from: buffer.bytes + consumed, byteCount: count)
        consumed += count
        if consumed == buffer.count {
            recycle(buffer)
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
        switch services.readCached(source, target, count, sourceOffset + offset) {
        case .bytes(let count):
            nextRead = offset + Int64(count)
            return count
        case .changed:
            state.withLock { $0.failure = .stopped(.failure(source.changed(), retryAfter: nil)) }
            return 0
        case .absent: piecesToRead = Self.piecesAtATime
        case .impossible: triesCache = false
        }
        prefetch()
        return 0
    }

    private var asksCache: Bool { triesCache && piecesToRead == 0 }

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

    private func recycle(_ buffer: Buffer?) {
        if let buffer, services.buffers.release(buffer) { services.onBuffersFreed() }
    }

    /// Has the next piece read, unless one is being read, no buffer is free or the page cache is asked first.
    func prefetch() {
        guard let threads = services.threads, nextRead < sourceLength, !asksCache else { return }
        let (mayRead, generation) = state.withLock { state in
            (!state.isReading && state.ready == nil && state.failure == nil && !state.ended, state.generation)
        }
        let left = sourceLength - nextRead
        let wanted = Int(min(Int64(piece), left))
        guard mayRead, let buffer = services.buffers.acquire(wanted > BufferPool.smallSize ? .large : .small) else {
            return
        }
        // If less is wanted than fits, the rest of the buffer is never touched and costs nothing.
        let count = min(buffer.capacity, wanted)
        let piece = Piece(buffer: buffer, generation: generation, offset: sourceOffset + nextRead, count: count)
        nextRead += Int64(count)
        piecesToRead = max(0, piecesToRead - 1)
        state.withLock { $0.isReading = true }
        threads.read(piece, for: self)
    }

    /// Moves to a byte of the payload, backward or forward. Returns false if there is no such byte.
    func seek(to offset: Int64) -> Bool {
        guard offset >= 0, offset <= length else { return false }
        guard offset != position else { return true }
        let ready = state.withLock { state in
            defer { state.ready = nil }
            state.generation += 1
            return state.ready
        }
        [ready, current].forEach(recycle)
        current = nil
        position = offset
        nextRead = min(max(0, offset - Int64(head.count)), sourceLength)
        prefetch()
        return true
    }

    // MARK: The reader's side

    /// Reads a piece; on a reader thread.
    func fill(_ piece: Piece) {
        let wanted = state.withLock { $0.generation == piece.generation }
        let failure = wanted ? load(piece) : nil
        let (stale, notify) = state.withLock { state in
            state.isReading = false
            let stale = state.generation != piece.generation
            if !stale {
                state.failure = failure
                if failure == nil { state.ready = piece.buffer }
            }
            defer { state.isAwaited = false }
            return (stale, state.isAwaited || failure != nil ? state.onChange : nil)
        }
        if stale || failure != nil { recycle(piece.buffer) }
        notify?()
    }

    private func load(_ piece: Piece) -> ExchangeOutcome.End? {
        guard let source else { return .local(errno: EBADF, operation: "read the source file") }
        while piece.buffer.count < piece.count {
            let target = piece.buffer.bytes + piece.buffer.count
            let offset = off_t(piece.offset) + off_t(piece.buffer.count)
            let count = pread(source.fileDescriptor, target, piece.count - piece.buffer.count, offset)
            if count < 0 {
                if errno == EINTR { continue }
                return .local(errno: errno, operation: "read the source file")
            }
            if count == 0 { break }
            piece.buffer.count += count
        }
        // After the read: a write in the meantime shows in size or time.
        guard piece.buffer.count == piece.count, source.identityNow() == source.identity else {
            return .stopped(.failure(source.changed(), retryAfter: nil))
        }
        return nil
    }
}
