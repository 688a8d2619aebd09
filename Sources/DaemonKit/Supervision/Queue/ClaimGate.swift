import Threading
import TransferModel

/// Keeps the dispatcher's hands off tasks that somebody is about to change.
///
/// Between the commit that says `running` and the run itself lies a moment in which a task has nothing that could be
/// stopped: without this, a pause or cancel in that moment would be stored, and the run would begin all the same.
final class ClaimGate: Sendable {
    private struct Waiter {
        var pending: Set<TaskID>
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var claiming: Set<TaskID> = []
        /// How many hold a task.
        var held: [TaskID: Int] = [:]
        var waiters: [Waiter] = []
    }

    private let state = Guarded(State())

    /// Begins a claim of those of `ids` that nobody holds; `leave` ends it, when each has a run or will have none.
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

    /// From now to `release` none of `ids` is claimed; returns when claims of them that had begun are over.
    func hold(_ ids: [TaskID]) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                for id in ids { state.held[id, default: 0] += 1 }
                let pending = state.claiming.intersection(ids)
                if !pending.isEmpty { state.waiters.append(Waiter(pending: pending, continuation: continuation)) }
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
