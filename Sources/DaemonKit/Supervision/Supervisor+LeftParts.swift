import TransferModel
import TransferStore

/// When parts that were left behind are looked for next.
struct SweepMemory: Sendable {
    /// Of the mounts that were there at the last look.
    fileprivate var generation: Int?
    /// Some were noted since, or a file system did not answer: on the boot clock, not before this.
    fileprivate var next: Int64? = 0
}

/// Parts of tasks that were given up while their disk was away: removed once it is back.
extension Supervisor {
    /// Remembers parts that could not be removed.
    func note(_ parts: [LeftPart]) async {
        guard !parts.isEmpty else { return }
        do {
            try await patience.persistently { try $0.note(parts) }
            didNote(parts)
        } catch {
            logger.warning("parts stay", metadata: ["first": "\(parts[0].name)", "error": "\(error)"])
        }
    }

    /// They are in the store.
    func didNote(_ parts: [LeftPart]) {
        guard !parts.isEmpty else { return }
        let next = time.reading().boot + Self.sweepInterval
        sweep.withLock { $0.next = min($0.next ?? next, next) }
        logger.info("parts are left to be removed later", metadata: ["count": "\(parts.count)"])
    }

    /// Milliseconds between two looks while nothing is mounted.
    private static let sweepInterval: Int64 = 60_000
    private static let sweepBatch = 256
    /// Nobody waits longer for a disk.
    private static let longestAbsence = Seconds(365 * 86400)

    /// Whether parts may be found now that were not there before.
    func isSweepDue(at boot: Int64) -> Bool {
        // In place nothing is mounted by itself.
        let generation = files.pool.width > 0 ? MountTable.current.generation : 0
        return sweep.withLock { memory in
            (memory.generation ?? generation) != generation || memory.next.map { $0 <= boot } ?? false
        }
    }

    /// Looks for all parts that were left behind, and removes those that are there.
    func sweepLeftParts() async {
        let generation = files.pool.width > 0 ? MountTable.current.generation : 0
        sweep.withLock { $0 = SweepMemory(generation: generation, next: nil) }
        do {
            var last: LeftPart?
            while true {
                let after = last
                let page = try await store.read { try $0.leftParts(after: after, limit: Self.sweepBatch) }
                guard let end = page.last else { return }
                try await sweep(page)
                last = end
            }
        } catch {
            sweepAgain()
            logger.warning("cannot look for parts that were left", metadata: ["error": "\(error)"])
        }
    }

    private func sweepAgain() {
        let next = time.reading().boot + Self.sweepInterval
        sweep.withLock { $0.next = $0.next ?? next }
    }

    private func sweep(_ page: [LeftPart]) async throws {
        let ids = Array(Set(page.map(\.task)))
        // A task that is tried again has a part of the same name.
        await runs.claims.hold(ids)
        defer {
            runs.claims.release(ids)
            kick()
        }
        let taken = try await store.read { snapshot in
            Set(try snapshot.heads(ids).filter { !$0.status.state.isFinal || $0.hasCheckpoint }.map(\.id))
        }
        let (left, isAnswered) = await files.remove(page.filter { !taken.contains($0.task) })
        if !isAnswered { sweepAgain() }
        let horizon = time.reading().wall.advanced(by: Seconds(-Self.longestAbsence.rawValue))
        let kept = Set(left.filter { $0.recordedAt > horizon })
        let gone = page.filter { !kept.contains($0) }
        guard !gone.isEmpty else { return }
        try await store.write { try $0.forget(gone) }
        logger.info("parts that were left are gone", metadata: ["count": "\(gone.count)"])
    }
}
