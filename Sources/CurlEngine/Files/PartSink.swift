import CLinux
import Glibc
import TransferCore
import TransferModel

/// The range of a part file that one exchange writes. The file's board does the syncs, the checkpoints and the journal.
package final class PartSink: @unchecked Sendable {
    /// How the file stands when the exchange ends.
    package struct Ending: Sendable {
        /// Everything before is written; if the file failed, everything before is durable.
        package var offset: Int64
        package var failure: LocalFailure?
    }

    struct State {
        let start: Int64
        var written: Int64
        /// Everything before survives power loss.
        var durable: Int64
        /// CRC of the bytes from the exchange's start to `written`, and of those to `durable`.
        var crcWritten: UInt32 = 0
        var crcDurable: UInt32 = 0
        /// Bytes were copied unseen (copy_file_range): the journal may claim only durable bytes.
        var crcUnknown = false
        /// The kernel is already writing everything before this.
        var writtenBack: Int64
        var failure: LocalFailure?
        var buffersOutstanding = 0
        var readerWaits = false
        var slot: OffsetJournal.Slot?
        var finishing: (@Sendable (Ending) -> Void)?
        /// The store knows the file, so the daemon's death costs only what was on its way.
        var isKnown = true
        var hasBegun = false
        var hasEnded = false
        /// The file was begun anew since: these bytes are of another version.
        var isStale = false

        init(from start: Int64) {
            self.start = start
            (written, durable, writtenBack) = (start, start, start)
        }

        var range: ByteRange { ByteRange(ByteCount(start), ByteCount(isStale ? start : written)) }
        /// Bytes that are not durable may be lost, even if a sync succeeds.
        var isUnsound: Bool { !(failure?.sparesWritten ?? true) }
        var unsynced: Int64 { isStale || isUnsound ? 0 : written - durable }
        /// Everything is durable, and nothing more comes.
        var isDurableToTheEnd: Bool { hasEnded && (isStale || written == durable) }
        /// How far the journal may claim, and the CRC of the claimed bytes that are not durable.
        var claimed: (end: Int64, crc: UInt32) {
            guard !crcUnknown else { return (durable, 0) }
            return (written, dld_crc32c_suffix(crcDurable, crcWritten, UInt64(written - durable)))
        }

        mutating func takeSlot() -> OffsetJournal.Slot? {
            defer { slot = nil }
            return slot
        }

        /// Another call pays once this many bytes of one file were written since the last.
        static let writeBackBytes: Int64 = 8 << 20

        /// What the kernel should write now, before the next checkpoint waits for it, as offset and length. nil if that
        /// is not worth a call yet, or a sync is under way, which the call would wait for. sync_file_range(2) with
        /// SYNC_FILE_RANGE_WRITE alone promises nothing, and takes no error from the fdatasync(2) that follows.
        mutating func takeWriteBack(isSyncing: Bool) -> (offset: Int64, count: Int64)? {
            let begin = max(writtenBack, durable)
            guard !isSyncing, written - begin >= Self.writeBackBytes else { return nil }
            writtenBack = written
            return (begin, written - begin)
        }
    }

    /// Buffers that the writer has while the next one fills.
    static let buffersInFlight = 1
    /// The most that a file unknown to the store may hold, less one buffer.
    static let unknownBytes = CheckpointPace.mostLost - Int64(BufferPool.largeSize)
    private static let reserveThreshold: Int64 = 256 << 10

    let board: PartBoard
    let acceptance: Acceptance
    /// The bytes come into the file by another process.
    let isWrittenByHelper: Bool
    let start: Int64
    /// Guarded by the lock of the board's state.
    var state: State
    /// The reader may continue, or the file failed; called on any thread.
    let onChange: @Sendable () -> Void

    var part: PartFile { board.part }
    /// A copy of the state.
    var now: State { board.state.withLock { _ in state } }

    init(
        on board: PartBoard, _ acceptance: Acceptance, isWrittenByHelper: Bool = false,
        onChange: @escaping @Sendable () -> Void
    ) {
        self.board = board
        self.acceptance = acceptance
        self.isWrittenByHelper = isWrittenByHelper
        self.onChange = onChange
        start = acceptance.offset.rawValue
        state = State(from: start)
    }

    // MARK: Reader's side

    /// Has the writer prepare the file; buffers may be submitted at once.
    package func open() { board.threads.post(.begin(self)) }

    /// Whether another buffer may be handed over now; if not, `onChange` says when to ask again.
    func admits(at now: Int64) -> Bool {
        board.state.withLock { board in
            guard state.buffersOutstanding >= Self.buffersInFlight || isTooFar(board, at: now) else { return true }
            state.readerWaits = true
            return false
        }
    }

    /// Whether so many bytes are not durable, or of a file that the store does not know, that none may follow.
    private func isTooFar(_ board: PartBoard.State, at now: Int64) -> Bool {
        board.pace.isLate(unsynced: board.unsynced, at: now)
            || !state.isKnown && state.written - start > Self.unknownBytes
    }

    /// Whether the writer has so little to do that a transfer of a crowd may take another buffer; if not, `onChange` says
    /// when to ask again.
    var isTurnToRead: Bool { board.threads.admits(self) }

    package func submit(_ buffer: Buffer) {
        board.state.withLock { _ in state.buffersOutstanding += 1 }
        board.threads.post(.bytes(self, buffer))
    }

    /// A helper has written everything before `offset`.
    func extend(to offset: Int64) { board.threads.post(.extend(self, to: offset)) }

    package var failure: LocalFailure? { board.state.withLock { _ in state.failure } }

    /// No buffer follows. `completion` is called once, when all bytes are written. If the exchange has the file to itself,
    /// they are durable then, if `syncing`.
    package func finish(syncing: Bool, _ completion: @escaping @Sendable (Ending) -> Void) {
        board.state.withLock { state in
            self.state.finishing = completion
            guard board.isAlone else { return }
            state.syncsAtEnd = syncing
            state.finishing = { [self] in report() }
        }
        board.threads.post(.finish(self))
    }

    /// Lets a waiting reader continue.
    func wakeReader() {
        let waited = board.state.withLock { _ in
            defer { state.readerWaits = false }
            return state.readerWaits
        }
        if waited { onChange() }
    }

    // MARK: Writer's side

    /// Makes the file if it is planned, cuts it where the body begins, and reserves room for it.
    func begin() {
        do throws(LocalFailure) {
            try part.makeIfPlanned()
            // The journal first: from now on it vetoes a checkpoint of the version that is being replaced.
            let begins = board.enter(self)
            if board.isAlone || acceptance.truncate { try cut(at: board.isAlone ? start : 0) }
            board.context.counters.setReceived(board.received)
            // If the file already has held ranges, this segment adds nothing to what is stored about the file.
            if begins { reachedFile(holding: board.isAlone ? start : 0) }
            if let range = board.reservation() { try reserve(range) }
        } catch {
            fail(error)
        }
    }

    private func cut(at length: Int64) throws(LocalFailure) {
        var status = stat()
        guard fstat(part.fileDescriptor, &status) == 0 else { throw LocalFailure("fstat") }
        guard status.st_size >= off_t(length) else {
            part.noteDamage()
            throw .cut
        }
        // What a helper has written already is after that.
        if status.st_size > off_t(length), !isWrittenByHelper, ftruncate(part.fileDescriptor, off_t(length)) != 0 {
            throw LocalFailure("ftruncate")
        }
        part.noteCut(at: length)
    }

    /// Reports the file; once that is stored, reading continues without a bound.
    /// - Parameter offset: everything before is in the file.
    private func reachedFile(holding offset: Int64) {
        board.state.withLock { _ in state.isKnown = offset > 0 }
        let checkpoint = Checkpoint(part, acceptance, offset: ByteCount(offset))
        board.context.observer.transferReachedFile(checkpoint) { [weak self] in
            guard let self else { return }
            board.state.withLock { _ in state.isKnown = true }
            wakeReader()
        }
    }

    /// Reserves room if that is worth a call.
    private func reserve(_ range: ByteRange) throws(LocalFailure) {
        let (start, count) = (range.start.rawValue, range.count.rawValue)
        guard count >= Self.reserveThreshold else { return }
        var status = stat()
        guard fstat(part.fileDescriptor, &status) == 0 else { throw LocalFailure("fstat") }
        // fallocate takes all available room before it fails: a file that cannot fit must not fill the disk for
        // everybody.
        let reserved = max(0, Int64(status.st_blocks) * 512 - start)
        let free = dld_free_space(part.fileDescriptor)
        guard free < 0 || free >= count - reserved else {
            // Even if all room were freed, it would not be enough.
            let isTooLong = start + count > dld_total_space(part.fileDescriptor)
            throw LocalFailure("fallocate", errno: isTooLong ? EFBIG : ENOSPC)
        }
        if dld_reserve(part.fileDescriptor, start, count) != 0, [ENOSPC, EDQUOT, EFBIG, EIO].contains(errno) {
            throw LocalFailure("fallocate")
        }
    }

    func write(_ buffer: Buffer) {
        append(buffer.bytes, buffer.count)
        board.files.buffers.release(buffer)
        board.state.withLock { _ in state.buffersOutstanding -= 1 }
        wakeReader()
    }

    /// Writes after the bytes written so far; does nothing after a failure.
    func append(_ bytes: UnsafeRawPointer?, _ count: Int) {
        let (failed, offset) = board.state.withLock { _ in (state.failure != nil || state.isStale, state.written) }
        guard !failed, count > 0, let bytes, isWhole() else { return }
        var done = 0
        var failure: LocalFailure?
        while done < count, failure == nil {
            let result = pwrite(part.fileDescriptor, bytes + done, count - done, off_t(offset) + off_t(done))
            if result > 0 { done += result }
            if result == 0 { failure = LocalFailure("pwrite", errno: ENOSPC) }
            if result < 0, errno != EINTR { failure = LocalFailure("pwrite") }
        }
        if done > 0 { wrote(offset + Int64(done), crcOf: bytes, done) }
        if let failure { fail(failure) }
    }

    /// Fails if somebody cut the file since the last write.
    func isWhole() -> Bool {
        guard part.isCut() else { return true }
        fail(.cut)
        return false
    }

    /// Notes bytes that were written after those so far.
    func wrote(_ end: Int64, crcOf bytes: UnsafeRawPointer?, _ count: Int) {
        // Only this thread changes `crcWritten`, so it may be used outside the lock.
        let before = board.state.withLock { _ in state.crcWritten }
        let crc = bytes.map { dld_crc32c(before, $0, count) } ?? before
        let now = dld_monotonic_nanoseconds()
        let (received, writeBack) = board.state.withLock { board in
            state.written = end
            state.crcWritten = crc
            if bytes == nil { state.crcUnknown = true }
            board.pace.wrote(at: now)
            self.board.claim(self, board)
            return (board.received, state.takeWriteBack(isSyncing: board.pace.isSyncing))
        }
        part.noteBytes(upTo: end)
        if let writeBack {
            board.threads.syncer.post { [part] in
                dld_start_writing(part.fileDescriptor, writeBack.offset, writeBack.count)
            }
        }
        board.context.counters.setReceived(received)
        board.checkpointIfDue(at: now)
    }

    /// Takes note of what a helper has written, as far as the file says so too.
    func extended(to offset: Int64) {
        let (failed, written) = board.state.withLock { _ in (state.failure != nil, state.written) }
        guard !failed, isWhole() else { return }
        var status = stat()
        guard fstat(part.fileDescriptor, &status) == 0 else { return fail(LocalFailure("fstat")) }
        let end = min(offset, Int64(status.st_size))
        if end > written { wrote(end, crcOf: nil, Int(end - written)) }
    }

    func fail(_ failure: LocalFailure) {
        board.state.withLock { _ in state.failure = state.failure ?? failure }
        onChange()
    }

    // MARK: The end

    /// All buffers are written; on the writer's thread.
    func end() {
        let sound: Int64? = board.state.withLock { _ in
            guard board.isAlone, state.failure != nil || isWrittenByHelper else { return nil }
            return state.isUnsound ? state.durable : state.written
        }
        // Also frees room reserved beyond the end, and drops what a helper wrote beyond what it said. A file that somebody cut
        // would only grow.
        if let sound, !part.isDamaged, ftruncate(part.fileDescriptor, off_t(sound)) == 0 { part.noteCut(at: sound) }
        board.state.withLock { state in
            if self.state.isUnsound { board.forgetUnsynced(self, state) }
            self.state.hasEnded = true
        }
        if board.isAlone { board.finishIfIdle() } else { report() }
    }

    /// Calls the completion of `finish`, unless that has happened.
    /// - Parameter isAbandoned: only durable bytes count.
    func report(isAbandoned: Bool = false) {
        let (completion, ending) = board.state.withLock { _ in
            defer { state.finishing = nil }
            return (
                state.finishing, Ending(offset: isAbandoned ? state.durable : state.written, failure: state.failure)
            )
        }
        if !isAbandoned { board.context.counters.setReceived(board.received) }
        completion?(ending)
    }
}
