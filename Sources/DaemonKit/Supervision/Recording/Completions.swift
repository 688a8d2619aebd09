import Threading
import TransferModel
import TransferStore

/// Batches the ends of runs that come while others are being stored, because a thousand small files must not cause a
/// thousand transactions.
struct Completions: Sendable {
    private typealias Item = (run: CompletedRun, then: @Sendable (Result<TaskTransitions.Outcome, any Error>) -> Void)

    /// The most ends in one transaction; limits how long others wait for the store.
    private static let most = 256

    let patience: StorePatience
    let transitions: TaskTransitions
    private let line = Guarded(WaitingLine<Item>())

    /// Stores the end of a run, however long the store is out of space.
    /// - Parameter then: called once, on any thread. Fails with `task.not_found`, `task.wrong_state`, or what the store
    ///   throws when the daemon stops.
    func store(
        _ run: CompletedRun, then: @escaping @Sendable (Result<TaskTransitions.Outcome, any Error>) -> Void
    ) {
        if run.body != nil {
            // The ends of others do not wait until a nearly full store has room for a long answer.
            Task { await store([(run, then)]) }
        } else if line.withLock({ $0.add((run, then)) }) {
            Task { await storeAll() }
        }
    }

    private func storeAll() async {
        while let items = line.withLock({ $0.take(atMost: Self.most) }) { await store(items) }
    }

    private func store(_ items: [Item]) async {
        let (transitions, runs) = (transitions, items.map(\.run))
        do {
            let answers = try await patience.persistently { try transitions.complete(runs, in: $0) }
            for (item, answer) in zip(items, answers) {
                item.then(answer.mapError { $0 })
            }
        } catch  where items.count > 1 && !patience.isStopping() {
            // One of them may make all fail, so each is stored by itself.
            for item in items { await store([item]) }
        } catch {
            for item in items { item.then(.failure(error)) }
        }
    }
}
