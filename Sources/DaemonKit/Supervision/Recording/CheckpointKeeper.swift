import Logging
import Threading
import TransferModel
import TransferStore

/// A run whose checkpoint must be stored.
protocol CheckpointSource: AnyObject, Sendable {
    /// Takes the latest checkpoint in order to store it now; nil if there is none.
    func takeCheckpoint() -> CheckpointChange?
    /// Reports whether the checkpoint is durable. If not, the next one covers it.
    func checkpointStored(_ isStored: Bool)
}

/// Batches the checkpoints that come while others are being stored, because a thousand slow transfers must not cause a
/// thousand transactions each second.
struct CheckpointKeeper: Sendable {
    /// The most checkpoints in one transaction; limits how long others wait for the store.
    private static let most = 512

    let store: TransferStore
    let logger: Logger
    private let line = Guarded(WaitingLine<any CheckpointSource>())
    /// Limits the Swift tasks that store notes of runs at a time. Otherwise a thousand runs that begin together would
    /// each wait with its own.
    private let storing = Turnstile(width: 256)

    /// Stores the latest checkpoint of `source` soon, and reports that to it.
    func keep(_ source: any CheckpointSource) {
        if line.withLock({ $0.add(source) }) { Task { await storeAll() } }
    }

    /// Soon stores notes that are more than a checkpoint.
    func store(_ notes: @escaping @Sendable () async -> Void) {
        storing.enter { [self] in
            Task {
                await notes()
                storing.leave()
            }
        }
    }

    private func storeAll() async {
        while let sources = line.withLock({ $0.take(atMost: Self.most) }) { await store(sources) }
    }

    /// If the store fails, checkpoints are lost, but no bytes: the next checkpoints cover them.
    private func store(_ sources: [any CheckpointSource]) async {
        let changes = sources.compactMap { $0.takeCheckpoint() }
        do {
            if !changes.isEmpty { try await store.write { try $0.setCheckpoints(changes) } }
            for source in sources { source.checkpointStored(true) }
        } catch {
            logger.retried("cannot record progress", error, ["tasks": "\(changes.count)"])
            for source in sources { source.checkpointStored(false) }
        }
    }
}
