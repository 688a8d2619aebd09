import DaemonSetup
import Logging
import TransferCore
import TransferModel
import TransferStore

/// Drops history and events that are old enough, and restores the store's reserve.
struct Housekeeping: Sendable {
    let store: TransferStore
    let stops: RunStops
    let transitions: TaskTransitions
    let leftParts: LeftParts
    let clock: ClockKeeper
    let configuration: @Sendable () -> Configuration
    let time: any TimeSource
    let logger: Logger

    /// Entries older than this are dropped; nil if none are.
    private static func horizon(_ retention: Seconds, at now: Timestamp) -> Timestamp? {
        retention > 0 ? now.advanced(by: Seconds(-retention.rawValue)) : nil
    }

    /// If the log is too long, drops the oldest events of the owners that have the most.
    private func dropEvents(keeping limit: Int) async throws {
        let counts = try await store.read { try $0.eventCounts() }
        for (owner, count) in counts.excess(keeping: limit) {
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

    /// Tasks that one transaction drops. That takes the writer a few milliseconds.
    private static let retentionBatch = 256

    /// Returns the tasks. Those that cannot be read are set aside first.
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

    /// Retention, the reserve, and what a crash left. Nothing here is urgent.
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
                // Part files are removed first, as when a client removes tasks.
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
