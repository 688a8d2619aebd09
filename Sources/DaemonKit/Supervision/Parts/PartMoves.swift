import CurlEngine
import FileKit
import Logging
import Threading
import TransferModel
import TransferStore

/// Moves part files when the destinations of their tasks change, and removes what they leave behind.
///
/// The store first names the new destination (`TaskChange`), and names the part file there after the move. In between,
/// the move is finished by whichever comes first: the update that requested it, the next attempt, or the next daemon.
struct PartMoves: Sendable {
    let patience: StorePatience
    let files: TransferFiles
    let engine: any ExchangePerforming
    let runs: RunTable
    let logger: Logger
    /// Called when a task may be claimed again.
    let released: @Sendable () -> Void
    /// For each task that is being changed, the callers that wait for their turn, in order.
    private let waiting = Guarded([TaskID: [CheckedContinuation<Void, Never>]]())

    /// Runs `body` while nothing else changes the destination of the task or moves its part file.
    func alone<T: Sendable>(_ id: TaskID, _ body: () async throws -> T) async throws -> T {
        await withCheckedContinuation { continuation in
            let mayPass = waiting.withLock { waiting in
                guard waiting[id] != nil else {
                    waiting[id] = []
                    return true
                }
                waiting[id]?.append(continuation)
                return false
            }
            if mayPass { continuation.resume() }
        }
        defer { leave(id) }
        return try await body()
    }

    private func leave(_ id: TaskID) {
        waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard let first = waiting[id]?.first else {
                waiting[id] = nil
                return nil
            }
            waiting[id]?.removeFirst()
            return first
        }?.resume()
    }

    // MARK: One part

    func isInPlace(_ record: TaskRecord, _ place: PartPlace) -> Bool {
        guard let checkpoint = record.checkpoint else { return true }
        return checkpoint.partPath == files.goal(of: record, place.plan, in: place.folder).path
    }

    /// Moves the task's part file to its destination. Nothing else may touch it meanwhile.
    /// - Returns: its checkpoint, which is stored; nil if the part file is gone; the old checkpoint if the part file is
    ///   unreachable.
    /// - Throws: `disk.*`, `destination.*`, `cancelled`, and what the store throws.
    func bring(_ record: TaskRecord, to place: PartPlace) async throws -> Checkpoint? {
        guard let checkpoint = record.checkpoint, !isInPlace(record, place) else { return record.checkpoint }
        let goal = files.goal(of: record, place.plan, in: place.folder)
        let moved = try await files.move(
            checkpoint, to: goal, journal: engine.journal, isStopping: patience.isStopping)
        if moved == checkpoint { return checkpoint }
        let isKnown = try await patience.persistently { [id = record.id] transaction in
            // The task may have been given up meanwhile, with a search for the part file in its old place.
            guard try transaction.task(id)?.checkpoint == checkpoint else { return false }
            try transaction.setCheckpoint(id, moved)
            return true
        }
        guard isKnown else {
            if let moved { await files.removePart(moved, owner: record.session.owner) }
            return nil
        }
        if moved.map({ FileIdentity($0) != FileIdentity(checkpoint) }) ?? true { engine.journal?.forget(record.id) }
        logger.info("part moved", metadata: ["task": "\(record.id)", "to": "\(goal.folder.path)"])
        await clean(record.id)
        return moved
    }

    /// Removes what the task's part file has left behind. Nothing else may touch it meanwhile. A later sweep removes what
    /// cannot be removed now.
    func clean(_ id: TaskID) async {
        do {
            try await removeLeft(by: id)
        } catch {
            logger.warning("cannot remove what a part left", metadata: ["task": "\(id)", "error": "\(error)"])
        }
    }

    private func removeLeft(by id: TaskID) async throws {
        // Persistent, because a database that cannot be read for a moment must not delay the removal until the next
        // sweep.
        let (parts, record) = try await patience.persistently { (try $0.leftParts(of: id), try $0.task(id)) }
        guard !parts.isEmpty else { return }
        var own: Set<String> = []
        if let record, record.isTaken, let plan = try? DestinationPlan(record.spec.destination) {
            own = Set(plan.partNames(task: id, store: files.storeID).map { plan.path(of: $0) })
        }
        let unwanted = parts.filter { !own.contains($0.path) && $0.path != record?.checkpoint?.partPath }
        // Two paths may name one folder.
        let left = await files.remove(unwanted, keeping: record?.checkpoint.map { FileIdentity($0) }).all
        let gone = parts.filter { own.contains($0.path) } + unwanted.filter { !left.contains($0) }
        guard !gone.isEmpty else { return }
        try await patience.store.write { try $0.forget(gone) }
    }

    // MARK: When nothing runs

    /// Moves the part file of a task that does not run, and removes what it leaves behind. A running task does this
    /// itself.
    /// - Throws: what `bring` throws.
    func finishNow(_ id: TaskID) async throws {
        try await alone(id) {
            await runs.claims.hold([id])
            defer {
                runs.claims.release([id])
                released()
            }
            guard runs[id] == nil else { return }
            let record = try await patience.store.read { try $0.task(id) }
            if let record, record.spec.kind == .download, record.checkpoint != nil {
                let plan = try DestinationPlan(record.spec.destination)
                _ = try await bring(record, to: PartPlace(plan: plan, folder: try await files.open(plan, for: record)))
            }
            await clean(id)
        }
    }

    /// Like `finishNow`, but leaves failures to the task's next attempt and to the next sweep.
    func finish(_ id: TaskID) async {
        do {
            try await finishNow(id)
        } catch {
            logger.warning("a part has not moved yet", metadata: ["task": "\(id)", "error": "\(error)"])
        }
    }

    /// Like `finish`, which continues in the background if it takes longer than `limit`.
    /// - Returns: whether it is over.
    @discardableResult func finish(_ id: TaskID, waitingAtMost limit: Duration) async -> Bool {
        await files.pool.answers(of: [id], within: limit) { [self] id, _ in await finish(id) }[0] != nil
    }

    /// Tells whether the task's destination or part file is being changed.
    func isBusy(_ id: TaskID) -> Bool { waiting.withLock { $0[id] != nil } }
}
