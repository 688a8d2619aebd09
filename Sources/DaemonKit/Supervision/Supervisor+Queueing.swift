import TransferCore
import TransferModel
import TransferRPC

/// Says what a queued task waits for.
extension Supervisor {
    package func queueing(of record: TaskRecord) async -> TaskView.Queueing? {
        if let hold = dispatcher?.hold(host: record.host) { return queueing(hold, of: record) }
        let settings = configuration().settings
        let session = try? await store.read { try $0.session(record.session) }
        let sessions = session.map { [$0.key: $0] } ?? [:]
        let limits = SlotLimits(settings, sessions)
        let candidate = Scheduler.Candidate(record)
        let running = runs.all.map(Scheduler.Candidate.init)
        guard let limit = Scheduler.blocking(candidate, running: running, limits: limits).first else { return nil }
        switch limit {
        case .global:
            return .init(
                reason: .slots,
                explanation: Self.taken(limits.global, "of the daemon", "maximumConcurrentTasks"))
        case .owner:
            return .init(
                reason: .user,
                explanation: Self.taken(limits.perOwner ?? 0, "of its user", "maximumConcurrentTasksPerUser"))
        case .session:
            return .init(
                reason: .session,
                explanation: Self.taken(
                    limits.perSession[record.session] ?? 0, "of the session \"\(record.session.identifier)\"",
                    "maximumConcurrentTasks of the session"))
        case .host:
            let most = min(limits.perHost, limits.perHostOfSession[record.session] ?? .max)
            return .init(
                reason: .hostSlots,
                explanation: Self.taken(
                    most, "for \(record.host)",
                    "maximumConcurrentTasksPerHost, or httpMaximumConnectionsPerHost of the session"))
        }
    }

    private static func taken(_ slots: Int, _ whose: String, _ settings: String) -> String {
        slots == 1
            ? "The only slot \(whose) is taken (\(settings))." : "All \(slots) slots \(whose) are taken (\(settings))."
    }

    private func queueing(_ hold: HostGates.Hold, of record: TaskRecord) -> TaskView.Queueing {
        switch hold {
        case .silent(let next):
            .init(
                reason: .host,
                explanation: "\(record.host) does not answer; one task at a time probes it. dlctl retry \(record.id) "
                    + "probes now.", nextAttemptAt: wallTime(next))
        case .paced(let next):
            .init(
                reason: .host,
                explanation: "\(record.host) asked for fewer requests (Retry-After); its tasks begin one after the "
                    + "other. dlctl retry \(record.id) tries now.", nextAttemptAt: wallTime(next))
        }
    }

    /// - Parameter boot: of the boot clock, in milliseconds.
    private func wallTime(_ boot: Int64) -> Timestamp {
        let now = time.reading()
        return Timestamp(milliseconds: now.wall.rawValue + max(0, boot - now.boot))
    }
}

extension Scheduler.Candidate {
    fileprivate init(_ record: TaskRecord) {
        self.init(
            id: record.id, session: record.session, host: record.host,
            priority: record.spec.priority?.value ?? TaskPriority.normal.value, position: record.position)
    }
}
