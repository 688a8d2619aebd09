import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel

/// The file side of one exchange: what is written, what is durable, and what the journal may claim.
///
/// The reactor hands in buffers, one writer thread empties them in order, and sync threads make them durable. The three
/// meet only in `state`. No system call is made under its lock, except the journal's pwrite(2) on file systems that
/// copy on write.
package final class PartSink: @unchecked Sendable {
    /// How the file stands when the exchange ends.
    package struct Ending: Sendable {
        /// Everything before is written; if the file failed, everything before is durable.
        package var offset: Int64
        package var failure: LocalFailure?
    }

    struct Services: Sendable {
        var lane: DeviceLane
        var journal: OffsetJournal?
        var buffers: BufferPool
        var ledger: SinkLedger
        var crowd = Crowd()
        /// A buffer came back after a request for one was refused.
        var onBuffersFreed: @Sendable () -> Void
    }

    struct State {
        var written: Int64
        /// Everything before survives power loss.
        var durable: Int64
        /// CRC of the bytes from the exchange's start to `written`, and of those to `durable`.
        var crcWritten: UInt32 = 0
        var crcDurable: UInt32 = 0
        /// Bytes were copied unseen (copy_file_range): the journal may claim only durable bytes.
        var crcUnknown = false
        var pace: CheckpointPace
        /// The kernel is already writing everything before this.
        var writtenBack: Int64
        var failure: LocalFailure?
        var buffersOutstanding = 0
        var readerWaits = false
        var slot: OffsetJournal.Slot?
        /// The version's name in the journal.
        var identity: UInt32 = 0
        var finishing: (@Sendable (Ending) -> Void)?
        /// False if the bytes will be delivered (and synced) at once.
        var syncAtEnd = true
        var ended = false
        /// When the file was ready for this exchange's bytes.
        var opened: Int64 = .max
        /// The store knows the file, so the daemon's death costs only what was on its way.
        var isKnown = true

        /// What the kernel should write now, as offset and length. nil if that is not worth a call yet, or a sync is
        /// under way, which the call would wait for.
        /// - Parameter boardSyncs: whether a board that several sinks share is syncing; nil without a board.
        mutating func takeWriteBack(_ boardSyncs: Bool? = nil) -> (offset: Int64, count: Int64)? {
            let begin = max(writtenBack, durable)
            guard !(boardSyncs ?? pace.isSyncing), written - begin >= WriteBack.bytes else { return nil }
            writtenBack = written
            return (begin, written - begin)
        }
    }

    /// Buffers that the writer has while the next one fills.
    static let buffersInFlight = 1
    /// The most that a file unknown to the store may hold, less one buffer.
    static let unknownBytes = Int64((1 << 20) - BufferPool.largeSize)
    private static let reserveThreshold: Int64 = 256 << 10
    static let smallEnding: Int64 = 4 << 20

    let part: PartFile
    let acceptance: Acceptance
    let context: TransferContext
    let services: Services
    /// Set if the file is written in several places at once; nil if this sink has it alone.
    let board: SegmentBoard?
    let start: Int64
    let state: Guarded<State>
    /// The reader may continue, or the file failed; called on any thread.
    let onChange: @Sendable () -> Void

    init(
        part: PartFile, acceptance: Acceptance, context: TransferContext, services: Services,
        board: SegmentBoard? = nil, onChange: @escaping @Sendable () -> Void
    ) {
        self.part = part
        self.acceptance = acceptance
        self.context = context
        self.services = services
        self.board = board
        self.onChange = onChange
        start = acceptance.offset.rawValue
        let pace = CheckpointPace(at: dld_monotonic_nanoseconds())
        var initial = State(written: start, durable: start, pace: pace, writtenBack: start)
        if board == nil {
            initial.identity = JournalEntry.identity(of: Self.checkpoint(part, acceptance, offset: start))
        }
        state = Guarded(initial)
        services.ledger.add(self)
    }

    /// The checkpoint at `offset`.
    static func checkpoint(_ part: PartFile, _ acceptance: Acceptance, offset: Int64) -> Checkpoint {
        Checkpoint(
            offset: ByteCount(offset), total: acceptance.total, validators: acceptance.validators,
            contentCoding: acceptance.contentCoding, partPath: part.path, device: part.device, inode: part.inode,
            serverDigests: acceptance.serverDigests, origin: acceptance.origin)
    }

    // MARK: Reader's side

    /// Has the writer prepare the file; buffers may be submitted at once.
    package func open() { services.lane.post(.begin(self)) }

    /// Whether another buffer may be handed over now; if not, `onChange` says when to ask again.
    func admits(at now: Int64) -> Bool {
        let boardIsLate = board?.isLate(at: now)
        return state.withLock { state in
            let late = boardIsLate ?? state.pace.isLate(unsynced: state.written - state.durable, at: now)
            let isAhead = !state.isKnown && state.written - start > Self.unknownBytes
            guard state.buffersOutstanding >= Self.buffersInFlight || late || isAhead else { return true }
            state.readerWaits = true
            return false
        }
    }

    package func submit(_ buffer: Buffer) {
        state.withLock { $0.buffersOutstanding += 1 }
        services.lane.post(.bytes(self, buffer))
    }

    package var failure: LocalFailure? { state.withLock { $0.failure } }

    /// No buffer follows. `completion` is called once, when all bytes are written and, if `syncing`, durable.
    package func finish(syncing: Bool, _ completion: @escaping @Sendable (Ending) -> Void) {
        state.withLock { state in
            state.finishing = completion
            state.syncAtEnd = syncing
        }
        services.lane.post(.finish(self))
    }

    /// Ends at once with what is durable: the disk does not answer and the daemon must stop.
    func abandon() {
        services.ledger.remove(self)
        let (completion, ending) = state.withLock { state in
            defer { state.finishing = nil }
            return (state.finishing, Ending(offset: state.durable, failure: state.failure))
        }
        completion?(ending)
    }

    // MARK: Writer's side

    /// Makes the file if it is planned, cuts it where the body begins, and reserves room for it.
    func begin() {
        do throws(LocalFailure) {
            try part.makeIfPlanned()
        } catch {
            return fail(error)
        }
        if let board { return begin(on: board) }
        state.withLock { $0.slot = services.journal?.claim(context.task, alone: true) }
        // The journal first: from now on it vetoes a checkpoint of the version that is being replaced.
        state.withLock { claim($0) }
        var status = stat()
        guard fstat(part.fileDescriptor, &status) == 0 else { return fail(LocalFailure("fstat")) }
        guard status.st_size >= off_t(start) else {
            part.noteDamage()
            return fail(.cut)
        }
        if status.st_size > off_t(start), ftruncate(part.fileDescriptor, off_t(start)) != 0 {
            return fail(LocalFailure("ftruncate"))
        }
        part.noteCut(at: start)
        state.withLock { $0.opened = dld_monotonic_nanoseconds() }
        context.counters.setReceived(ByteCount(start))
        reachedFile(holding: start)
        if let total = acceptance.total?.rawValue { reserve(from: start, to: total) }
    }

    /// Reports the file; once that is stored, reading continues without a bound.
    /// - Parameter offset: everything before is in the file.
    func reachedFile(holding offset: Int64) {
        state.withLock { $0.isKnown = offset > 0 }
        context.observer.transferReachedFile(Self.checkpoint(part, acceptance, offset: offset)) { [weak self] in
            guard let self else { return }
            let waits = state.withLock { state in
                state.isKnown = true
                defer { state.readerWaits = false }
                return state.readerWaits
            }
            if waits { onChange() }
        }
    }

    /// Reserves room if that is worth a call.
    func reserve(from start: Int64, to end: Int64) {
        guard end - start >= Self.reserveThreshold else { return }
        var status = stat()
        guard fstat(part.fileDescriptor, &status) == 0 else { return fail(LocalFailure("fstat")) }
        // fallocate takes all available room before it fails: a file that cannot fit must not fill the disk for
        // everybody.
        let reserved = max(0, Int64(status.st_blocks) * 512 - start)
        let free = dld_free_space(part.fileDescriptor)
        guard free < 0 || free >= end - start - reserved else {
            // Even if all room were freed, it would not be enough.
            let isTooLong = end > dld_total_space(part.fileDescriptor)
            return fail(LocalFailure("fallocate", errno: isTooLong ? EFBIG : ENOSPC))
        }
        if dld_reserve(part.fileDescriptor, start, end - start) != 0, [ENOSPC, EDQUOT, EFBIG, EIO].contains(errno) {
            fail(LocalFailure("fallocate"))
        }
    }

    func write(_ buffer: Buffer) {
        append(buffer.bytes, buffer.count)
        recycle(buffer)
    }

    /// Writes after the bytes written so far; does nothing after a failure.
    func append(_ bytes: UnsafeRawPointer?, _ count: Int) {
        let (failed, offset) = state.withLock { ($0.failure != nil, $0.written) }
        guard !failed, count > 0, let bytes, isWhole() else { return }
        let (done, failure) = writeAll(bytes, count, at: offset)
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
        let before = state.withLock { $0.crcWritten }
        let crc = bytes.map { dld_crc32c(before, $0, count) } ?? before
        let boardSyncs = board?.isSyncing
        let now = dld_monotonic_nanoseconds()
        let writeBack = state.withLock { state in
            state.written = end
            state.crcWritten = crc
            if bytes == nil { state.crcUnknown = true }
            state.pace.wrote(at: now)
            claim(state)
            return state.takeWriteBack(boardSyncs)
        }
        part.noteBytes(upTo: end)
        if let writeBack {
            services.lane.sync(WriteBack(part: part, offset: writeBack.offset, count: writeBack.count))
        }
        if let board { return board.wrote(at: now) }
        context.counters.setReceived(ByteCount(end))
        checkpointIfDue(at: now)
    }

    private func writeAll(
        _ bytes: UnsafeRawPointer, _ count: Int, at offset: Int64
    ) -> (done: Int, failure: LocalFailure?) {
        var done = 0
        while done < count {
            let result = pwrite(part.fileDescriptor, bytes + done, count - done, off_t(offset) + off_t(done))
            if result < 0 {
                if errno == EINTR { continue }
                return (done, LocalFailure("pwrite"))
            }
            if result == 0 { return (done, LocalFailure("pwrite", errno: ENOSPC)) }
            done += result
        }
        return (done, nil)
    }

    private func recycle(_ buffer: Buffer) {
        if services.buffers.release(buffer) { services.onBuffersFreed() }
        let waited = state.withLock { state in
            state.buffersOutstanding -= 1
            defer { state.readerWaits = false }
            return state.readerWaits
        }
        if waited { onChange() }
    }

    func fail(_ failure: LocalFailure) {
        state.withLock { state in
            guard state.failure == nil else { return }
            state.failure = failure
        }
        onChange()
    }

    /// Rewrites the journal's slot; called under the lock of `state`.
    func claim(_ state: State) {
        guard let slot = state.slot, let journal = services.journal, let boot = journal.boot else { return }
        let end = state.crcUnknown ? state.durable : state.written
        let crc = dld_crc32c_suffix(state.crcDurable, state.crcWritten, UInt64(end - state.durable))
        let entry = JournalEntry(
            task: context.task, device: part.device, inode: part.inode, identity: state.identity,
            start: board == nil ? nil : start, base: state.durable, offset: end, crc: state.crcUnknown ? 0 : crc,
            boot: boot)
        journal.write(entry, to: slot)
    }

    // MARK: The end

    func end() {
        let failure = state.withLock { $0.failure }
        if let failure, !failure.sparesWritten {
            // Bytes that the kernel holds beyond the last checkpoint may be lost or unwritten: they must be written
            // again.
            state.withLock { state in
                state.written = state.durable
                state.crcWritten = state.crcDurable
            }
        }
        // Also frees room reserved beyond the end. A file that somebody cut would only grow.
        if failure != nil, !part.isDamaged {
            let written = state.withLock { $0.written }
            if ftruncate(part.fileDescriptor, off_t(written)) == 0 { part.noteCut(at: written) }
        }
        let (completion, ending) = state.withLock { state in
            if let slot = state.slot {
                // The claim is kept even if all bytes are durable: that is reported, but not stored yet. Bytes lost to
                // a failed disk are not claimed.
                let isSound = failure?.sparesWritten ?? true
                services.journal?.release(
                    slot, task: context.task,
                    keeping: isSound && (state.crcUnknown ? state.durable : state.written) > 0)
                state.slot = nil
            }
            state.ended = true
            defer { state.finishing = nil }
            return (state.finishing, Ending(offset: state.written, failure: state.failure))
        }
        context.counters.setReceived(ByteCount(ending.offset))
        services.ledger.remove(self)
        completion?(ending)
    }
}
