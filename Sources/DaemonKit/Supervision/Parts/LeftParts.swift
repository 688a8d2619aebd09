import DaemonSetup
import FileKit
import Logging
import Threading
import TransferModel
import TransferStore

/// Removes part files that are not needed any more: those of tasks that were given up while their disk was unavailable,
/// and those under names from before a change of the destination.
struct LeftParts: Sendable {
    let patience: StorePatience
    let files: TransferFiles
    let runs: RunTable
    let moves: PartMoves
    let time: any TimeSource
    let signal: SupervisionSignal
    let logger: Logger
    /// The generation of the mount table at the last look. If part files were noted since, or a file system failed or did
    /// not answer, the next look is not before `next`, in milliseconds of the boot clock.
    private let memory = Guarded<(generation: Int?, next: Int64?)>((nil, 0))

    /// Removes what a task held here. `UploadEndings` ends its upload at the server.
    /// - Parameter record: the task after its transition. If that has ended it, the store knows its part files already.
    func discard(_ record: TaskRecord) async {
        let parts = LeftPart.all(of: record, in: files.storeID, at: time.reading().wall)
        guard !parts.isEmpty else { return }
        let left = await files.remove(parts).all
        guard record.status.state.isFinal else { return await note(left) }
        didNote(left)
        let gone = parts.filter { !left.contains($0) }
        do {
            try await patience.persistently { try $0.forget(gone) }
        } catch {
            // The next look finds that they are gone.
            logger.warning("parts that are gone stay noted", metadata: ["task": "\(record.id)", "error": "\(error)"])
        }
    }

    /// Stores the part files that could not be removed.
    func note(_ parts: [LeftPart]) async {
        guard !parts.isEmpty else { return }
        do {
            try await patience.persistently { try $0.note(parts) }
            didNote(parts)
        } catch {
            logger.warning("parts stay", metadata: ["first": "\(parts[0].name)", "error": "\(error)"])
        }
    }

    /// Notes that the part files are in the store.
    func didNote(_ parts: [LeftPart]) {
        guard !parts.isEmpty else { return }
        let next = time.reading().boot + Self.sweepInterval
        memory.withLock { $0.next = min($0.next ?? next, next) }
        logger.info("parts are left to be removed later", metadata: ["count": "\(parts.count)"])
    }

    /// Milliseconds between two looks if no file system is mounted meanwhile.
    private static let sweepInterval: Int64 = 60_000
    private static let sweepBatch = 256
    /// A part file is forgotten if its disk was unavailable for this long.
    private static let longestAbsence = Seconds(365 * 86400)
    /// How long a part file that moves may delay the ones after it.
    private static let longestMove: Duration = .seconds(5)

    /// Tells whether part files may have become reachable.
    func isSweepDue(at boot: Int64) -> Bool {
        // Without threads (in simulations), mounts do not change.
        let generation = files.pool.width > 0 ? MountTable.current.generation : 0
        return memory.withLock { memory in
            (memory.generation ?? generation) != generation || memory.next.map { $0 <= boot } ?? false
        }
    }

    /// Looks for all left part files, removes those that it finds, and continues interrupted moves.
    func sweep() async {
        let generation = files.pool.width > 0 ? MountTable.current.generation : 0
        memory.withLock { $0 = (generation, nil) }
        do {
            var last: LeftPart?
            while !Task.isCancelled {
                let after = last
                let page = try await patience.store.read { try $0.leftParts(after: after, limit: Self.sweepBatch) }
                guard let end = page.last else { return }
                try await sweep(page)
                last = end
            }
        } catch {
            sweepAgain()
            logger.retried("cannot look for parts that were left", error)
        }
    }

    /// Schedules another look for what is left.
    func sweepAgain() {
        let next = time.reading().boot + Self.sweepInterval
        memory.withLock { $0.next = $0.next ?? next }
    }

    private func sweep(_ page: [LeftPart]) async throws {
        let ids = Set(page.map(\.task)).sorted()
        let taken = try await removeUnwanted(page, of: ids)
        guard !taken.isEmpty else { return }
        // Repeats this until nothing is left of them.
        sweepAgain()
        // The file systems between which a part file moves.
        func devices(of record: TaskRecord) -> [UInt64?] {
            [page.first { $0.task == record.id }?.device, record.destinationDevice]
        }
        var stuck = Set(taken.filter { moves.isBusy($0.id) }.map(devices))
        for record in taken where !Task.isCancelled {
            let way = devices(of: record)
            guard !stuck.contains(way) else { continue }
            if !(await moves.finish(record.id, waitingAtMost: Self.longestMove)) { stuck.insert(way) }
        }
    }

    /// Removes the part files of tasks that need none.
    /// - Returns: the other tasks.
    private func removeUnwanted(_ page: [LeftPart], of ids: [TaskID]) async throws -> [TaskRecord] {
        // Held, because a task that is tried again has a part file of the same name.
        await runs.claims.hold(ids)
        defer {
            runs.claims.release(ids)
            signal.changed()
        }
        let taken = try await patience.store.read { try $0.tasks(ids) }.filter(\.isTaken)
        let wanting = Set(taken.map(\.id))
        let unwanted = page.filter { !wanting.contains($0.task) }
        let left = await files.remove(unwanted)
        if !left.failed.isEmpty { sweepAgain() }
        let horizon = time.reading().wall.advanced(by: Seconds(-Self.longestAbsence.rawValue))
        let kept = Set(left.all)
        let gone = page.filter { $0.recordedAt <= horizon || !(wanting.contains($0.task) || kept.contains($0)) }
        guard !gone.isEmpty else { return taken }
        try await patience.store.write { try $0.forget(gone) }
        logger.info("parts that were left are gone", metadata: ["count": "\(gone.count)"])
        return taken
    }
}

extension TaskRecord {
    /// Tells whether the task has a part file, or may create one.
    var isTaken: Bool { !status.state.isFinal || checkpoint != nil }
}
