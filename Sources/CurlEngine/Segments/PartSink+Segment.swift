import CLinux
import Glibc
import TransferCore
import TransferModel

/// The sink of one of several segments: it writes its own range, and leaves syncs and checkpoints to the board.
extension PartSink {
    /// How far a sink is.
    struct Extent: Sendable {
        var written: Int64
        var durable: Int64
        /// CRC of the bytes from the sink's start to `written`.
        var crc: UInt32
    }

    var extent: Extent {
        state.withLock { Extent(written: $0.written, durable: $0.durable, crc: $0.crcWritten) }
    }

    /// Everything is durable, and nothing more comes.
    var isDurableToTheEnd: Bool { state.withLock { $0.ended && $0.written == $0.durable } }

    /// Joins the board; on the writer's thread.
    func begin(on board: SegmentBoard) {
        let (identity, begins) = board.enter(self)
        state.withLock { state in
            state.identity = identity
            state.slot = services.journal?.claim(context.task)
            claim(state)
        }
        if acceptance.truncate {
            guard ftruncate(part.fileDescriptor, 0) == 0 else { return fail(LocalFailure("ftruncate")) }
            part.noteCut(at: 0)
        }
        context.counters.setReceived(board.received)
        // If the file already has held ranges, this segment adds nothing to what is stored about the file.
        if begins { reachedFile(holding: 0) }
        if let range = board.reservation() { reserve(from: range.start.rawValue, to: range.end.rawValue) }
    }

    /// The bytes written up to `mark` survive power loss.
    func becameDurable(_ mark: Extent) {
        state.withLock { state in
            guard state.failure?.sparesWritten ?? true else { return }
            state.durable = mark.written
            state.crcDurable = mark.crc
            claim(state)
        }
    }

    /// A sync failed: only bytes that were durable before count.
    func fallBack(_ failure: LocalFailure) {
        state.withLock { state in
            if state.ended { forgetUnsynced(&state) }
        }
        fail(failure)
    }

    func forgetUnsynced(_ state: inout State) {
        state.written = state.durable
        state.crcWritten = state.crcDurable
        claim(state)
    }

    func surrenderSlot() -> OffsetJournal.Slot? {
        state.withLock { state in
            defer { state.slot = nil }
            return state.slot
        }
    }

    /// Lets a reader continue that a late checkpoint had stopped.
    func wakeReader() {
        let waited = state.withLock { state in
            defer { state.readerWaits = false }
            return state.readerWaits
        }
        if waited { onChange() }
    }

    /// The segment has ended, complete or not.
    func end(on board: SegmentBoard) {
        let (completion, ending) = state.withLock { state in
            if let failure = state.failure, !failure.sparesWritten { forgetUnsynced(&state) }
            state.ended = true
            defer { state.finishing = nil }
            return (state.finishing, Ending(offset: state.written, failure: state.failure))
        }
        context.counters.setReceived(board.received)
        services.ledger.remove(self)
        completion?(ending)
    }
}
