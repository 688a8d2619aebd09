import Logging
import Threading
import TransferModel
import TransferStore

/// Whose checkpoint is to be stored.
protocol CheckpointSource: AnyObject, Sendable {
    /// The latest checkpoint, to be stored now; nil if none is left.
    func takeCheckpoint() -> CheckpointChange?
    /// What was taken is durable, or, with false, is not: the next one covers it.
    func checkpointStored(_ isStored: Bool)
}

/// Gathers the checkpoints that come while others are being stored: a thousand slow transfers need not be a thousand
/// bodies of transactions each second.
final class CheckpointKeeper: Sendable {
    /// Most checkpoints in one body: bounds how long others wait for the store.
    private static let most = 512

    private let store: TransferStore
    private let logger: Logger
    private let line = Guarded(WaitingLine<any CheckpointSource>())
    /// Tasks at one time that store notes of runs: of a thousand that begin together each would wait with its own.
    private let storing = Turnstile(width: 256)

    init(store: TransferStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Stores the latest checkpoint of `source` soon, and tells it.
    func keep(_ source: any CheckpointSource) {
        if line.withLock({ $0.add(source) }) { Task { await storeAll() } }
    }

    /// Stores what is more than a checkpoint, soon.
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

    /// A store that fails loses checkpoints, never a byte: the next ones cover them.
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
