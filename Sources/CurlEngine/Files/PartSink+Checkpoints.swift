import CLinux
import Glibc

/// What of a file survives power loss: bytes are synced first, and reported then.
extension PartSink {
    /// How far the file was written when a sync of it began.
    struct Mark: Sendable {
        var offset: Int64
        var crc: UInt32
        var began: Int64
        /// When the file was ready for this exchange's bytes.
        var opened: Int64

        init(at now: Int64, _ state: State) {
            offset = state.written
            crc = state.crcWritten
            began = now
            opened = state.opened
        }
    }

    /// Starts a checkpoint if one is due; on any thread. In a crowd, rounds start those that are due by time.
    func checkpointIfDue(at now: Int64) {
        if let board { return board.checkpointIfDue(at: now) }
        let isCrowded = services.crowd.isCrowded
        let (due, offset): (CheckpointPace.Due, Int64) = state.withLock { state in
            guard state.failure == nil, state.finishing == nil, !state.ended else { return (.nothing, 0) }
            let unsynced = state.written - state.durable
            return (state.pace.step(unsynced: unsynced, at: now, isCrowded: isCrowded), state.durable)
        }
        switch due {
        case .nothing: break
        case .announcement:
            context.observer.transferCheckpointed(Self.checkpoint(part, acceptance, offset: offset))
        case .sync: services.lane.sync(self)
        }
    }

    /// fdatasync, then the checkpoint; on a sync thread.
    func synchronize() {
        let mark = state.withLock { Mark(at: dld_monotonic_nanoseconds(), $0) }
        let failure = fdatasync(part.fileDescriptor) == 0 ? nil : LocalFailure("fdatasync")
        syncEnded(mark, failure)
    }

    func joinRound(at now: Int64) -> SyncShare? {
        let mark: Mark? = state.withLock { state in
            guard board == nil, state.failure == nil, state.finishing == nil, !state.ended,
                state.pace.join(unsynced: state.written - state.durable, at: now)
            else { return nil }
            return Mark(at: now, state)
        }
        guard let mark else { return nil }
        return SyncShare(fileDescriptor: part.fileDescriptor, opened: mark.opened) {
            self.syncEnded(mark, nil)
        } syncAlone: {
            self.services.lane.sync(self)
        }
    }

    /// The bytes written up to `mark` are durable, or never will be.
    func syncEnded(_ mark: Mark, _ failure: LocalFailure?) {
        if failure == nil {
            // A journal entry that lags behind a checkpoint would veto it.
            state.withLock { state in
                guard state.crcUnknown else { return }
                state.durable = mark.offset
                claim(state)
            }
            context.observer.transferCheckpointed(Self.checkpoint(part, acceptance, offset: mark.offset))
        }
        let (waited, ends) = state.withLock { state in
            if let failure {
                state.failure = failure
                state.pace.failed()
            } else {
                state.durable = mark.offset
                state.crcDurable = mark.crc
                state.pace.synced(began: mark.began, unsynced: state.written - mark.offset)
                claim(state)
            }
            defer { state.readerWaits = false }
            return (state.readerWaits || failure != nil, state.finishing != nil)
        }
        // So much may have been written in the meantime that nothing more is written until it is durable.
        checkpointIfDue(at: dld_monotonic_nanoseconds())
        if waited { onChange() }
        if ends { services.lane.post(.finish(self)) }
    }

    /// All buffers are written: makes them durable if requested, and ends.
    func finishWriting() {
        if let board { return end(on: board) }
        enum Next { case wait, sync, end }
        let now = dld_monotonic_nanoseconds()
        let next: Next = state.withLock { state in
            if state.pace.isSyncing { return .wait }
            let unsynced = state.written - state.durable
            let sound = state.failure?.sparesWritten ?? true
            let wanted = state.syncAtEnd || state.failure != nil || unsynced > Self.smallEnding
            return sound && wanted && state.pace.join(unsynced: unsynced, at: now) ? .sync : .end
        }
        switch next {
        case .wait: break
        case .sync: services.lane.sync(self)
        case .end: end()
        }
    }
}
