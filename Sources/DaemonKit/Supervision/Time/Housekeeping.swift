import DaemonSetup
import Logging
import TransferCore
import TransferModel
import TransferStore

/// Drops history and events that are old enough, and takes the store's reserve back.
struct Housekeeping: Sendable {
    let store: TransferStore
    let stops: RunStops
    let transitions: TaskTransitions
    let leftParts: LeftParts
    let clock: ClockKeeper
    let configuration: @Sendable () -> Configuration
    let time: any TimeSource
    let logger: Logger

    /// What is older goes; nil if nothing does.
    private static func horizon(_ retention: Seconds, at now: Timestamp) -> Timestamp? {
        retention > 0 ? now.advanced(by: Seconds(-retention.rawValue)) : nil
    }

    /// Of a log that is longer, the oldest events of those owners go who have the most.
    private func dropEvents(keeping limit: Int) async throws {
        let counts = try await store.read { try $0.eventCounts() }
        for (owner, count) in EventShares.excess(counts, keeping: limit) {
            var left = count
            while left > 0 {
                let most = min(left, 1000)
                let oldest = try await store.read { try $0.oldestEvents(of: owner, limit: most) }
                guard !oldest.isEmpty else { break }
                try await store.write { try $0.expireEvents(oldest, of: owner) }
                left -= oldest.count
            }
        }
    }

    /// Tasks that one transaction drops: some milliseconds of the writer.
    private static let retentionBatch = 256

    /// The tasks; those that cannot be read are set aside before.
    private func readable(_ ids: [TaskID]) async throws -> [TaskRecord] {
        let records = try await store.read { try $0.tasks(ids) }
        let missing = Set(ids).subtracting(records.map(\.id)).sorted()
        guard !missing.isEmpty else { return records }
        let transitions = transitions
        try await store.write { transaction in
            for id in missing { _ = try transitions.readable(id, in: transaction) }
        }
        return try await store.read { try $0.tasks(ids) }
    }

    /// Retention, the reserve, and what a crash left: nothing here is urgent.
    func run() async {
        do {
            store.restoreReserve()
            let settings = configuration().global
            let reading = time.reading()
            guard clock.mayDropByAge(at: reading) else { return }
            let now = reading.wall
            while let horizon = Self.horizon(settings.historyRetention, at: now) {
                let ids = try await store.read { try $0.history(before: horizon, limit: Self.retentionBatch) }
                guard !ids.isEmpty else { break }
                let old = try await readable(ids)
                // Parts go first, as with what a client removes.
                try await stops.stopping(ids) {
                    let parts = try await leftParts.discardParts(of: ids, for: .remove(deleteFile: false))
                    let left = try await store.write { transaction in
                        let dropped = try transaction.expire(old, before: horizon)
                        for record in dropped { try transaction.endUpload(of: record, at: now) }
                        let ids = Set(dropped.map(\.id))
                        let left = parts.left.filter { ids.contains($0.task) }
                        try transaction.note(left)
                        return left
                    }
                    leftParts.didNote(left)
                }
                if ids.count < Self.retentionBatch { break }
            }
            if let horizon = Self.horizon(settings.eventRetention, at: now) {
                while try await store.write({ try $0.expireEvents(before: horizon, limit: 2000) }) {}
            }
            if settings.eventRetentionCount > 0 { try await dropEvents(keeping: settings.eventRetentionCount) }
            if let horizon = Self.horizon(settings.historyRetention, at: now) {
                while try await store.write({ try $0.expireSessions(before: horizon, limit: 100) }) == 100 {}
            }
            let tokenHorizon = now.advanced(by: Seconds(-ClientTokens.lifetime))
            while try await store.write({ try $0.expireClientTokens(before: tokenHorizon, limit: 1000) }) == 1000 {}
        } catch {
            logger.retried("cannot drop old history", error)
        }
    }
}
