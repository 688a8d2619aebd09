import Glibc
import Threading

/// Knows what is still being written, so that a shutdown can wait for it, but not for ever.
final class SinkLedger: Sendable {
    private struct State {
        var boards: [ObjectIdentifier: PartBoard] = [:]
        var locals: [ObjectIdentifier: LocalExchange] = [:]
    }
    private let state = Guarded(State())

    func add(_ board: PartBoard) { state.withLock { $0.boards[ObjectIdentifier(board)] = board } }
    func remove(_ board: PartBoard) { state.withLock { $0.boards[ObjectIdentifier(board)] = nil } }
    func add(_ local: LocalExchange) { state.withLock { $0.locals[ObjectIdentifier(local)] = local } }
    func remove(_ local: LocalExchange) { state.withLock { $0.locals[ObjectIdentifier(local)] = nil } }

    func files(of round: SyncRound) -> [PartBoard] {
        state.withLock { $0.boards.values.filter { $0.threads.round === round } }
    }

    /// Cancels local copies, waits for all ends, and abandons whatever a disk that does not answer still holds. Blocks.
    func drain(milliseconds: Int) {
        for local in state.withLock({ Array($0.locals.values) }) { local.cancel() }
        for _ in 0..<max(1, milliseconds / 2) {
            if state.withLock({ $0.boards.isEmpty && $0.locals.isEmpty }) { return }
            usleep(2000)
        }
        for board in state.withLock({ Array($0.boards.values) }) { board.abandon() }
    }
}
