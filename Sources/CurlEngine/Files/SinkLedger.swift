import Glibc
import Threading

/// Knows what is still being written, so that a shutdown can wait for it, but not for ever.
final class SinkLedger: Sendable {
    private struct State {
        var sinks: [ObjectIdentifier: PartSink] = [:]
        var locals: [ObjectIdentifier: LocalExchange] = [:]
        var boards: [ObjectIdentifier: SegmentBoard] = [:]
    }
    private let state = Guarded(State())

    func add(_ sink: PartSink) { state.withLock { $0.sinks[ObjectIdentifier(sink)] = sink } }
    func remove(_ sink: PartSink) { state.withLock { $0.sinks[ObjectIdentifier(sink)] = nil } }
    func files(of round: SyncRound) -> [any RoundMember] {
        state.withLock { state in
            state.sinks.values.filter { $0.services.lane.round === round }
                + state.boards.values.filter { $0.services.lane.round === round }
        }
    }
    func add(_ local: LocalExchange) { state.withLock { $0.locals[ObjectIdentifier(local)] = local } }
    func remove(_ local: LocalExchange) { state.withLock { $0.locals[ObjectIdentifier(local)] = nil } }

    func add(_ board: SegmentBoard) { state.withLock { $0.boards[ObjectIdentifier(board)] = board } }
    func remove(_ board: SegmentBoard) { state.withLock { $0.boards[ObjectIdentifier(board)] = nil } }

    /// Cancels local copies, waits for all ends, and abandons whatever a disk that does not answer still holds. Blocks.
    func drain(milliseconds: Int) {
        for local in state.withLock({ Array($0.locals.values) }) { local.cancel() }
        for _ in 0..<max(1, milliseconds / 2) {
            if state.withLock({ $0.sinks.isEmpty && $0.locals.isEmpty && $0.boards.isEmpty }) { return }
            usleep(2000)
        }
        for sink in state.withLock({ Array($0.sinks.values) }) { sink.abandon() }
        for board in state.withLock({ Array($0.boards.values) }) { board.abandon() }
    }
}
