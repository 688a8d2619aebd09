import Threading
import TransferModel

/// Keeps the dispatcher away from tasks that are about to be changed.
///
/// Between the commit of `running` and the run itself, a task has no run that could be stopped. Without this gate, a
/// pause or cancel in that moment would be stored, and the run would begin nevertheless.
final class ClaimGate: Sendable {
    private struct State {
        var claiming: Set<TaskID> = []
        /// How many callers hold a task.
        var held: [TaskID: Int] = [:]
        var waiters: [(pending: Set<TaskID>, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Guarded(State())

    /// Begins a claim of those of `ids` that nobody holds. `leave` ends it, when each of them has a run or will have
    /// none.
    func enter(_ ids: [TaskID]) -> [TaskID] {
        state.withLock { state in
            let free = ids.filter { state.held[$0] == nil }
            state.claiming.formUnion(free)
            return free
        }
    }

    func leave(_ ids: [TaskID]) {
        let ready = state.withLock { state in
            state.claiming.subtract(ids)
            for index in state.waiters.indices { state.waiters[index].pending.subtract(ids) }
            defer { state.waiters.removeAll { $0.pending.isEmpty } }
            return state.waiters.filter { $0.pending.isEmpty }
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Prevents claims of `ids` until `release`. Returns when the claims of these tasks that were running have ended.
    func hold(_ ids: [TaskID]) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                for id in ids { state.held[id, default: 0] += 1 }
                let pending = state.claiming.intersection(ids)
                if !pending.isEmpty { state.waiters.append((pending, continuation)) }
                return pending.isEmpty
            }
            if isReady { continuation.resume() }
        }
    }

    func release(_ ids: [TaskID]) {
        state.withLock { state in
            for id in ids {
                guard let count = state.held[id] else { continue }
                state.held[id] = count > 1 ? count - 1 : nil
            }
        }
    }
}
