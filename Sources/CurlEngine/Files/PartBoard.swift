import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel

/// What of one part file is written, what of it survives power loss, and what the journal may claim: one board for each
/// file, whether one exchange writes it or several side by side.
///
/// Each exchange has a `PartSink`. The reactor hands in buffers, one writer thread empties them in order, sync threads make
/// all of them durable at once, and one checkpoint describes the whole file. They meet only in `state`, whose lock also
/// guards the sinks. The journal's lock nests in it. No system call is made under it, except the journal's pwrite(2) on
/// file systems that copy on write. A sink stays on the board after its exchange ended, until its bytes are durable.
package final class PartBoard: Sendable {
    struct State {
        /// The version; nil until an answer or a checkpoint tells it.
        var version: Acceptance?
        /// The version's name in the journal.
        var identity: UInt32 = 0
        /// Durable ranges that belong to no sink here.
        var held: ByteRangeSet
        var sinks: [PartSink] = []
        /// Slots that claim ranges of `held`.
        var retired: [(range: ByteRange, slot: OffsetJournal.Slot)] = []
        var isReserved = false
        var pace = CheckpointPace(at: dld_monotonic_nanoseconds())
        /// When the file was ready for this attempt's bytes.
        var opened: Int64 = .max
        /// A sync failed.
        var failure: LocalFailure?
        var finishing: (@Sendable () -> Void)?
        var syncsAtEnd = false

        var received: ByteCount { sinks.reduce(held.count) { $0 + $1.state.range.count } }
        var unsynced: Int64 { sinks.reduce(0) { $0 + $1.state.unsynced } }
        var written: ByteRangeSet { sinks.reduce(into: held) { $0.insert($1.state.range) } }

        mutating func takeSlots() -> [OffsetJournal.Slot] {
            defer { retired = [] }
            return retired.map(\.slot) + sinks.compactMap { $0.state.takeSlot() }
        }
    }

    package let part: PartFile
    let context: TransferContext
    let files: FileSide
    let threads: DeviceThreads
    /// One exchange has the file to itself.
    let isAlone: Bool
    let state: Guarded<State>

    /// - Parameters:
    ///   - checkpoint: the held ranges, for several exchanges.
    ///   - offset: where the only exchange continues; nil if there may be several.
    init(
        part: PartFile, checkpoint: Checkpoint? = nil, alone offset: ByteCount? = nil, context: TransferContext,
        files: FileSide
    ) {
        self.part = part
        self.context = context
        self.files = files
        threads = files.devices.threads(for: part.device)
        isAlone = offset != nil
        var initial = State(held: checkpoint.map { ByteRangeSet($0) } ?? ByteRangeSet())
        if let offset { initial.held.insert(ByteRange(.zero, offset)) }
        if let checkpoint, checkpoint.held > .zero {
            var version = Acceptance(
                offset: .zero, total: checkpoint.total, validators: checkpoint.validators,
                contentCoding: checkpoint.contentCoding, serverDigests: checkpoint.serverDigests)
            version.mirror = checkpoint.mirror
            initial.version = version
            initial.identity = JournalEntry.identity(of: checkpoint)
        }
        state = Guarded(initial)
        files.ledger.add(self)
    }

    // MARK: Sinks come and go

    /// `onChange` is called, on any thread, when the sink accepts bytes again or its file failed.
    func sink(
        _ acceptance: Acceptance, isWrittenByHelper: Bool = false, onChange: @escaping @Sendable () -> Void
    ) -> PartSink {
        let sink = PartSink(on: self, acceptance, isWrittenByHelper: isWrittenByHelper, onChange: onChange)
        state.withLock { $0.sinks.append(sink) }
        return sink
    }

    /// The sink's answer was accepted; on the writer's thread, before its first byte.
    /// - Returns: whether the file begins with this answer.
    func enter(_ sink: PartSink) -> Bool {
        let acceptance = sink.acceptance
        let (begins, slots) = state.withLock { state in
            let begins = acceptance.truncate || state.version == nil
            var slots: [OffsetJournal.Slot] = []
            if begins {
                slots = state.takeSlots()
                state.identity = JournalEntry.identity(of: Checkpoint(part, acceptance, offset: .zero))
                // Held ranges do not extend to where this answer begins: the sink of another one, which failed before,
                // was to write those bytes.
                if acceptance.truncate { state.held = ByteRangeSet() }
                for other in state.sinks where other.state.hasBegun { other.state.isStale = true }
                state.isReserved = false
            }
            let isFirst = state.sinks.allSatisfy { !$0.state.hasBegun || $0.state.isStale }
            // A later answer may tell more about the same version: its length, a digest.
            if begins || isFirst && state.version?.total == nil { state.version = acceptance }
            sink.state.hasBegun = true
            state.opened = min(state.opened, dld_monotonic_nanoseconds())
            return (begins, slots)
        }
        guard let journal = files.journal else { return begins }
        for slot in slots { journal.release(slot, task: context.task, keeping: false) }
        // Claims of earlier attempts refer to bytes that are being replaced.
        if begins, !isAlone { journal.forget(context.task) }
        state.withLock { state in
            sink.state.slot = journal.claim(context.task, alone: isAlone)
            claim(sink, state)
        }
        return begins
    }

    /// Rewrites the sink's claim in the journal; under the lock.
    func claim(_ sink: PartSink, _ state: State) {
        guard let slot = sink.state.slot, let journal = files.journal, let boot = journal.boot else { return }
        let claimed = sink.state.claimed
        let entry = JournalEntry(
            task: context.task, device: part.device, inode: part.inode, identity: state.identity,
            start: isAlone ? nil : sink.start, base: sink.state.durable, offset: claimed.end,
            crc: claimed.crc, boot: boot)
        journal.write(entry, to: slot)
    }

    /// The range to reserve now: the rest of the file, once.
    func reservation() -> ByteRange? {
        state.withLock { state in
            guard !state.isReserved, let total = state.version?.total, state.held.prefix < total else { return nil }
            state.isReserved = true
            return ByteRange(state.held.prefix, total)
        }
    }

    /// Bytes of the file that are written, by any attempt.
    package var received: ByteCount { state.withLock { $0.received } }

    /// The written ranges, as the engine itself saw them.
    package var written: ByteRangeSet { state.withLock { $0.written } }

    // MARK: Checkpoints

    /// Starts a checkpoint if one is due; on any thread. In a crowd, rounds start those that are due by time.
    func checkpointIfDue(at now: Int64) {
        let isCrowded = files.crowd.isCrowded
        let (due, held): (CheckpointPace.Due, Checkpoint?) = state.withLock { state in
            guard state.failure == nil, state.finishing == nil else { return (.nothing, nil) }
            let due = state.pace.step(unsynced: state.unsynced, at: now, isCrowded: isCrowded)
            return (due, due == .announcement ? checkpoint(state, state.held) : nil)
        }
        switch due {
        case .nothing: break
        case .announcement:
            if let held { context.observer.transferCheckpointed(held) }
        case .sync: threads.syncer.post(synchronize)
        }
    }

    private func checkpoint(_ state: State, _ durable: ByteRangeSet) -> Checkpoint? {
        state.version.map { version in
            var checkpoint = Checkpoint(part, version, offset: durable.prefix)
            checkpoint.ranges = durable.beyond
            return checkpoint
        }
    }

    private func succeeded(_ marks: Marks) {
        let checkpoint = state.withLock { state in
            var durable = state.held
            for mark in marks.sinks where !mark.sink.state.isStale && !mark.sink.state.isUnsound {
                mark.sink.state.durable = mark.offset
                mark.sink.state.crcDurable = mark.crc
                durable.insert(ByteRange(ByteCount(mark.sink.start), ByteCount(mark.offset)))
                // Before the checkpoint is reported: a journal entry that lags behind would veto it.
                claim(mark.sink, state)
            }
            return self.checkpoint(state, durable)
        }
        if let checkpoint { context.observer.transferCheckpointed(checkpoint) }
        state.withLock { state in
            retire(&state)
            state.pace.synced(began: marks.began, unsynced: state.unsynced)
        }
    }

    /// Bytes that the kernel holds beyond the last checkpoint may be lost: every sink falls back to it.
    private func failed(_ failure: LocalFailure) {
        let sinks = state.withLock { state in
            state.failure = failure
            state.pace.failed()
            let sinks = state.sinks.filter { !$0.state.isStale }
            for sink in sinks {
                // Worse than a full disk, which spares what is written.
                if sink.state.failure?.sparesWritten ?? true { sink.state.failure = failure }
                if sink.state.hasEnded { forgetUnsynced(sink, state) }
            }
            return sinks
        }
        for sink in sinks { sink.onChange() }
        context.counters.setReceived(received)
    }

    /// Under the lock.
    func forgetUnsynced(_ sink: PartSink, _ state: State) {
        sink.state.written = sink.state.durable
        sink.state.crcWritten = sink.state.crcDurable
        claim(sink, state)
    }

    /// Removes sinks that have ended and are durable. Neighbours share one slot, so a file with many segments needs
    /// few.
    private func retire(_ state: inout State) {
        for sink in state.sinks where sink.state.isDurableToTheEnd {
            let range = sink.state.range
            state.held.insert(range)
            if let slot = sink.state.takeSlot() { merge(slot, range, &state) }
        }
        state.sinks.removeAll { $0.state.isDurableToTheEnd }
    }

    private func merge(_ slot: OffsetJournal.Slot, _ range: ByteRange, _ state: inout State) {
        guard let journal = files.journal else { return }
        let neighbours = state.retired.filter { $0.range.end == range.start || $0.range.start == range.end }
        guard !neighbours.isEmpty else { return state.retired.append((range, slot)) }
        state.retired.removeAll { $0.range.end == range.start || $0.range.start == range.end }
        let whole = neighbours.reduce(range) { ByteRange(min($0.start, $1.range.start), max($0.end, $1.range.end)) }
        if let boot = journal.boot {
            let entry = JournalEntry(
                task: context.task, device: part.device, inode: part.inode, identity: state.identity,
                start: whole.start.rawValue, base: whole.end.rawValue, offset: whole.end.rawValue, crc: 0, boot: boot)
            journal.write(entry, to: slot)
        }
        for neighbour in neighbours { journal.release(neighbour.slot, task: context.task, keeping: false) }
        state.retired.append((whole, slot))
    }

    // MARK: The end

    /// Ends the attempt's work on the file after all exchanges. `finished` is called once, on any thread, possibly before
    /// this returns: with `syncing`, the written bytes are durable and checkpointed then.
    package func finish(syncing: Bool, then finished: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.finishing = finished
            state.syncsAtEnd = syncing
        }
        finishIfIdle()
    }

    func finishIfIdle() {
        enum Next { case wait, sync, end(@Sendable () -> Void) }
        let now = dld_monotonic_nanoseconds()
        let next: Next = state.withLock { state in
            guard let finished = state.finishing, !state.pace.isSyncing, state.sinks.allSatisfy(\.state.hasEnded)
            else { return .wait }
            let isWanted = state.syncsAtEnd || state.sinks.contains { $0.state.failure != nil }
            if isWanted, state.failure == nil, state.pace.join(unsynced: state.unsynced, at: now) { return .sync }
            state.finishing = nil
            return .end(finished)
        }
        switch next {
        case .wait: break
        case .sync: threads.syncer.post(synchronize)
        case .end(let finished): end(finished)
        }
    }

    /// The claims stay readable: if the daemon dies before the file is delivered, or before the last checkpoint is
    /// stored, they prove its bytes.
    private func end(_ finished: @Sendable () -> Void) {
        files.ledger.remove(self)
        let (slots, isSound) = state.withLock { state in
            let slots = state.takeSlots()
            // Sinks refer to their transfers, and these to this board: without this, they would keep each other alive.
            state.held = state.written
            state.sinks = []
            return (slots, state.failure == nil)
        }
        for slot in slots { files.journal?.release(slot, task: context.task, keeping: isSound) }
        finished()
    }

    /// Ends at once with what is durable: the disk does not answer and the daemon must stop.
    func abandon() {
        files.ledger.remove(self)
        for sink in state.withLock({ $0.sinks }) { sink.report(isAbandoned: true) }
        let finished = state.withLock { state in
            defer { state.finishing = nil }
            return state.finishing
        }
        finished?()
    }
}

extension PartBoard {
    /// How far each sink was when a sync began.
    private struct Marks: Sendable {
        var began: Int64
        var sinks: [(sink: PartSink, offset: Int64, crc: UInt32)]

        init(of state: State, at now: Int64) {
            began = now
            sinks = state.sinks.map { ($0, $0.state.written, $0.state.crcWritten) }
        }
    }

    /// fdatasync, then the checkpoint; on a sync thread.
    func synchronize() {
        let now = dld_monotonic_nanoseconds()
        let marks = state.withLock { Marks(of: $0, at: now) }
        let result = Durations.fileSyncs.measure { fdatasync(part.fileDescriptor) }
        syncEnded(marks, result == 0 ? nil : LocalFailure("fdatasync"))
    }

    /// Takes part in a sync of many files; nil if nothing is due.
    func joinRound(at now: Int64) -> SyncShare? {
        let joined: (marks: Marks, opened: Int64)? = state.withLock { state in
            guard state.failure == nil, state.finishing == nil, state.pace.join(unsynced: state.unsynced, at: now)
            else { return nil }
            return (Marks(of: state, at: now), state.opened)
        }
        return joined.map { joined in
            SyncShare(fileDescriptor: part.fileDescriptor, opened: joined.opened) {
                self.syncEnded(joined.marks, nil)
            } syncAlone: {
                self.threads.syncer.post(self.synchronize)
            }
        }
    }

    private func syncEnded(_ marks: Marks, _ failure: LocalFailure?) {
        if let failure { failed(failure) } else { succeeded(marks) }
        // So much may have been written in the meantime that nothing more is written until it is durable.
        checkpointIfDue(at: dld_monotonic_nanoseconds())
        for sink in state.withLock({ $0.sinks }) { sink.wakeReader() }
        finishIfIdle()
    }
}

extension Checkpoint {
    /// The checkpoint at `offset` of a part file with this answer's bytes.
    init(_ part: PartFile, _ acceptance: Acceptance, offset: ByteCount) {
        self.init(
            offset: offset, total: acceptance.total, validators: acceptance.validators,
            contentCoding: acceptance.contentCoding, partPath: part.path, device: part.device, inode: part.inode,
            serverDigests: acceptance.serverDigests, mirror: acceptance.mirror)
    }
}
