import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel

/// Keeps the sinks of one part file together: one sync for all of them, and one checkpoint for all.
///
/// A sink stays on the board after its segment ended, until its bytes are durable. Locks nest here: the board's first,
/// then a sink's, then the journal's. No system call is made under them, except the journal's pwrite(2) on file systems
/// that copy on write.
package final class SegmentBoard: Sendable {
    private struct State {
        /// The version; nil until an answer or a checkpoint tells it.
        var version: Acceptance?
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
        var failure: LocalFailure?
        var finishing: (@Sendable () -> Void)?
        var syncsAtEnd = false

        var received: ByteCount { sinks.reduce(held.count) { $0 + ByteCount($1.extent.written - $1.start) } }
        var unsynced: Int64 { sinks.reduce(0) { $0 + $1.extent.written - $1.extent.durable } }
    }

    package let part: PartFile
    private let context: TransferContext
    let services: PartSink.Services
    private let state: Guarded<State>

    init(part: PartFile, checkpoint: Checkpoint?, context: TransferContext, services: PartSink.Services) {
        self.part = part
        self.context = context
        self.services = services
        var initial = State(held: checkpoint.map { ByteRangeSet($0) } ?? ByteRangeSet())
        if let checkpoint, checkpoint.held > .zero {
            var version = Acceptance(
                offset: .zero, total: checkpoint.total, validators: checkpoint.validators,
                contentCoding: checkpoint.contentCoding, serverDigests: checkpoint.serverDigests)
            version.origin = checkpoint.origin
            initial.version = version
            initial.identity = JournalEntry.identity(of: checkpoint)
        }
        state = Guarded(initial)
        services.ledger.add(self)
    }

    // MARK: Sinks come and go

    /// Adds a sink whose answer was accepted; on the writer's thread, before its first byte.
    /// - Returns: the version's name for the journal, and whether the file begins with this answer.
    func enter(_ sink: PartSink) -> (identity: UInt32, begins: Bool) {
        let (identity, begins, slots) = state.withLock { state in
            let begins = sink.acceptance.truncate || state.version == nil
            var slots: [OffsetJournal.Slot] = []
            if begins {
                slots = slotsHeld(&state)
                state.identity = JournalEntry.identity(of: PartSink.checkpoint(part, sink.acceptance, offset: 0))
                // Held ranges do not extend to where this answer begins: the sink of another one, which failed before,
                // was to write those bytes.
                if sink.acceptance.truncate { state.held = ByteRangeSet() }
                state.sinks = []
                state.isReserved = false
            }
            // A later answer may tell more about the same version: its length, a digest.
            if begins || state.sinks.isEmpty && state.version?.total == nil { state.version = sink.acceptance }
            state.sinks.append(sink)
            state.opened = min(state.opened, dld_monotonic_nanoseconds())
            return (state.identity, begins, slots)
        }
        for slot in slots { services.journal?.release(slot, task: context.task, keeping: false) }
        // Claims of earlier attempts refer to bytes that are being replaced.
        if begins { services.journal?.forget(context.task) }
        return (identity, begins)
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
    package var written: ByteRangeSet {
        state.withLock { state in
            var written = state.held
            for sink in state.sinks { written.insert(ByteRange(ByteCount(sink.start), ByteCount(sink.extent.written))) }
            return written
        }
    }

    // MARK: Checkpoints

    /// A sink wrote something.
    func wrote(at now: Int64) {
        let received = state.withLock { state in
            state.pace.wrote(at: now)
            return state.received
        }
        context.counters.setReceived(received)
        checkpointIfDue(at: now)
    }

    /// Whether so many written bytes are not durable, or for so long, that nothing more should be read.
    func isLate(at now: Int64) -> Bool {
        state.withLock { $0.pace.isLate(unsynced: $0.unsynced, at: now) }
    }

    var isSyncing: Bool { state.withLock { $0.pace.isSyncing } }

    /// Starts a checkpoint if one is due; on any thread. In a crowd, rounds start those that are due by time.
    func checkpointIfDue(at now: Int64) {
        let isCrowded = services.crowd.isCrowded
        let (due, held): (CheckpointPace.Due, Checkpoint?) = state.withLock { state in
            guard state.failure == nil, state.finishing == nil else { return (.nothing, nil) }
            let due = state.pace.step(unsynced: state.unsynced, at: now, isCrowded: isCrowded)
            return (due, due == .announcement ? checkpoint(state, state.held) : nil)
        }
        switch due {
        case .nothing: break
        case .announcement:
            if let held { context.observer.transferCheckpointed(held) }
        case .sync: services.lane.sync(self)
        }
    }

    private func checkpoint(_ state: State, _ durable: ByteRangeSet) -> Checkpoint? {
        guard let version = state.version else { return nil }
        var checkpoint = PartSink.checkpoint(part, version, offset: durable.prefix.rawValue)
        checkpoint.ranges = durable.beyond
        return checkpoint
    }

    private func succeeded(_ marks: [(sink: PartSink, extent: PartSink.Extent)], at now: Int64) {
        let checkpoint = state.withLock { state in
            var durable = state.held
            for mark in marks { durable.insert(ByteRange(ByteCount(mark.sink.start), ByteCount(mark.extent.written))) }
            return self.checkpoint(state, durable)
        }
        if let checkpoint { context.observer.transferCheckpointed(checkpoint) }
        for mark in marks { mark.sink.becameDurable(mark.extent) }
        state.withLock { state in
            retire(&state)
            state.pace.synced(began: now, unsynced: state.unsynced)
        }
    }

    /// Bytes that the kernel holds beyond the last checkpoint may be lost: every sink falls back to it.
    private func failed(_ failure: LocalFailure) {
        let sinks = state.withLock { state in
            state.failure = failure
            return state.sinks
        }
        for sink in sinks { sink.fallBack(failure) }
        context.counters.setReceived(received)
    }

    /// Removes sinks that have ended and are durable. Neighbours share one slot, so a file with many segments needs
    /// few.
    private func retire(_ state: inout State) {
        for sink in state.sinks where sink.isDurableToTheEnd {
            let range = ByteRange(ByteCount(sink.start), ByteCount(sink.extent.written))
            state.held.insert(range)
            if let slot = sink.surrenderSlot() { merge(slot, range, &state) }
        }
        state.sinks.removeAll { $0.isDurableToTheEnd }
    }

    private func merge(_ slot: OffsetJournal.Slot, _ range: ByteRange, _ state: inout State) {
        guard let journal = services.journal else { return }
        let neighbours = state.retired.filter { $0.range.end == range.start || $0.range.start == range.end }
        guard !neighbours.isEmpty else { return state.retired.append((range, slot)) }
        state.retired.removeAll { $0.range.end == range.start || $0.range.start == range.end }
        let whole = neighbours.reduce(range) { ByteRange(min($0.start, $1.range.start), max($0.end, $1.range.end)) }
        if let entry = entry(whole, state) { journal.write(entry, to: slot) }
        for neighbour in neighbours { journal.release(neighbour.slot, task: context.task, keeping: false) }
        state.retired.append((whole, slot))
    }

    private func entry(_ range: ByteRange, _ state: State) -> JournalEntry? {
        services.journal?.boot.map { boot in
            JournalEntry(
                task: context.task, device: part.device, inode: part.inode, identity: state.identity,
                start: range.start.rawValue, base: range.end.rawValue, offset: range.end.rawValue, crc: 0, boot: boot)
        }
    }

    // MARK: The end

    /// Ends the attempt's work on the file after all exchanges: with `syncing`, the written bytes are durable and
    /// checkpointed when this returns.
    package func finish(syncing: Bool) async {
        await withCheckedContinuation { continuation in finish(syncing: syncing) { continuation.resume() } }
    }

    /// The same; calls `finished` once, on any thread, possibly before it returns.
    package func finish(syncing: Bool, then finished: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.finishing = finished
            state.syncsAtEnd = syncing
        }
        finishIfIdle()
    }

    private func finishIfIdle() {
        enum Next { case wait, sync, end(@Sendable () -> Void) }
        let now = dld_monotonic_nanoseconds()
        let next: Next = state.withLock { state in
            guard let finished = state.finishing, !state.pace.isSyncing else { return .wait }
            if state.syncsAtEnd, state.failure == nil, state.pace.join(unsynced: state.unsynced, at: now) {
                return .sync
            }
            state.finishing = nil
            return .end(finished)
        }
        switch next {
        case .wait: break
        case .sync: services.lane.sync(self)
        case .end(let finished): end(finished)
        }
    }

    /// The claims stay readable: if the daemon dies before the file is delivered, they prove its bytes.
    private func end(_ finished: @Sendable () -> Void) {
        services.ledger.remove(self)
        let (slots, isSound) = state.withLock { state in
            let slots = slotsHeld(&state)
            // Sinks refer to their transfers, and these to this board: without this, they would keep each other alive.
            for sink in state.sinks {
                state.held.insert(ByteRange(ByteCount(sink.start), ByteCount(sink.extent.written)))
            }
            state.sinks = []
            return (slots, state.failure == nil)
        }
        for slot in slots { services.journal?.release(slot, task: context.task, keeping: isSound) }
        finished()
    }

    private func slotsHeld(_ state: inout State) -> [OffsetJournal.Slot] {
        defer { state.retired = [] }
        return state.retired.map(\.slot) + state.sinks.compactMap { $0.surrenderSlot() }
    }

    /// Ends at once: the disk does not answer and the daemon must stop.
    func abandon() {
        let finished = state.withLock { state in
            defer { state.finishing = nil }
            return state.finishing
        }
        services.ledger.remove(self)
        finished?()
    }
}

extension SegmentBoard: RoundMember {
    /// How far each sink was when a sync began.
    private struct Marks: Sendable {
        var began: Int64
        var extents: [(sink: PartSink, extent: PartSink.Extent)]

        init(of state: State, at now: Int64) {
            began = now
            extents = state.sinks.map { (sink: $0, extent: $0.extent) }
        }
    }

    /// fdatasync, then the checkpoint; on a sync thread.
    func synchronize() {
        let now = dld_monotonic_nanoseconds()
        let marks = state.withLock { Marks(of: $0, at: now) }
        syncEnded(marks, fdatasync(part.fileDescriptor) == 0 ? nil : LocalFailure("fdatasync"))
    }

    func joinRound(at now: Int64) -> SyncShare? {
        let joined: (marks: Marks, opened: Int64)? = state.withLock { state in
            guard state.failure == nil, state.finishing == nil, state.pace.join(unsynced: state.unsynced, at: now)
            else {
                return nil
            }
            return (Marks(of: state, at: now), state.opened)
        }
        guard let joined else { return nil }
        return SyncShare(fileDescriptor: part.fileDescriptor, opened: joined.opened) {
            self.syncEnded(joined.marks, nil)
        } syncAlone: {
            self.services.lane.sync(self)
        }
    }

    private func syncEnded(_ marks: Marks, _ failure: LocalFailure?) {
        if let failure { failed(failure) } else { succeeded(marks.extents, at: marks.began) }
        let sinks = state.withLock { state in
            // Not earlier: an end that comes before all sinks have fallen back would keep bytes that may be lost.
            if failure != nil { state.pace.failed() }
            return state.sinks
        }
        checkpointIfDue(at: dld_monotonic_nanoseconds())
        for sink in sinks { sink.wakeReader() }
        finishIfIdle()
    }
}
