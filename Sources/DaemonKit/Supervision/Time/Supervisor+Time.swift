import TransferCore
import TransferModel
import TransferStore

/// What the passing of time does to tasks.
extension Supervisor {
    /// Fails tasks whose deadline or time for the resource has passed; those that run when their runs have stopped, for which
    /// this does not wait: a disk that does not answer holds up its own task alone.
    func passDeadlines(at now: ClockReading, limit: Int) async throws {
        // Those that are stopping stay due, and are not to stand before all others.
        let most = limit + runs.count
        let due = try await store.read { try $0.dueDeadlines(at: now.wall, limit: most) }
        guard !due.isEmpty else { return }
        await runs.claims.hold(due)
        var stopping = 0
        defer {
            runs.claims.release(due)
            if stopping < due.count { signal.changed() }
        }
        let (transitions, runs) = (transitions, runs)
        let (outcomes, stops) = try await store.write { transaction in
            var outcomes: [TaskTransitions.Outcome] = []
            var stops: [(run: TransferRun, event: TaskEvent)] = []
            for id in due {
                guard let record = try transitions.readable(id, in: transaction) else { continue }
                let isDeadline = record.spec.deadlineAt.map { $0 <= now.wall } ?? false
                if !isDeadline, try transitions.postponed(record, at: now, in: transaction) { continue }
                let event: TaskEvent = isDeadline ? .deadlinePassed : .resourceTimeoutPassed
                if record.status.state == .running, let run = runs[id] {
                    stops.append((run, event))
                    continue
                }
                do {
                    outcomes.append(try transitions.apply(event, to: record, in: transaction))
                } catch let error as TransferError where error.code == .taskWrongState {
                    continue
                }
            }
            return (outcomes, stops)
        }
        stopping = stops.count
        for (run, event) in stops { run.requestAbort(.transition(event)) }
        if !outcomes.isEmpty { Task { await followUp.follow(outcomes) } }
    }

    /// Stops runs of sessions whose time window has closed.
    func closeSchedules(at now: ClockReading) async throws {
        let active = runs.all
        guard !active.isEmpty else { return }
        let sessions = try await store.read { snapshot in
            try Set(active.map(\.session)).compactMap { try snapshot.session($0) }
        }
        for session in sessions {
            guard let opening = schedules.closedUntil(session, at: now.wall) else { continue }
            for run in active where run.session == session.key {
                run.requestAbort(.transition(.blocked(.schedule, nil, nextAttemptAt: opening)))
            }
        }
    }

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
    func keepHouse() async {
        do {
            store.restoreReserve()
            let settings = configuration().global
            let reading = time.reading()
            guard mayDropByAge(at: reading) else { return }
            let now = reading.wall
            while let horizon = Self.horizon(settings.historyRetention, at: now) {
                let ids = try await store.read { try $0.history(before: horizon, limit: Self.retentionBatch) }
                guard !ids.isEmpty else { break }
                let old = try await readable(ids)
                // Parts go first, as with what a client removes.
                try await stops.stopping(ids) {
                    let parts = try await discardParts(of: ids, for: .remove(deleteFile: false))
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
