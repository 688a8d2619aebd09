import DaemonSetup
import FileKit
import TransferCore
import TransferModel
import TransferStore

/// Explains what a queued task waits for.
struct QueueingReason: Sendable {
    let store: TransferStore
    /// Those of all supervisions: a slot may be held by a task of another store.
    let slots: SharedSlots
    let policies: TaskPolicies
    let configuration: @Sendable () -> Configuration
    let time: any TimeSource

    func queueing(of record: TaskRecord) async -> Queueing? {
        let session = try? await store.read { try $0.session(record.session) }
        if session?.pause.since != nil {
            return .init(
                reason: .sessionPaused,
                explanation: "The session \"\(record.session.identifier)\" is paused; dlctl session resume "
                    + "\(record.session.identifier) lets its tasks run.")
        }
        if let hold = slots.gates.hold(
            host: record.host, owner: record.session.owner, heedsSilence: !record.id.isVolatile)
        {
            let proxy = session.map { policies.policy(of: record, in: $0).network }?.proxy.flatMap(ProxyRules.address)
            return queueing(hold, of: record, through: proxy)
        }
        let settings = configuration().settings
        let sessions = session.map { [$0.key: $0] } ?? [:]
        let limits = SlotLimits(settings, sessions)
        let candidate = Scheduler.Candidate(record)
        let running = slots.holders.map(Scheduler.Candidate.init)
        guard let limit = Scheduler.blocking(candidate, running: running, limits: limits).first else { return nil }
        return .init(reason: limit.reason, explanation: Self.explanation(limit, limits, of: record))
    }

    private static func explanation(_ limit: SlotLimit, _ limits: SlotLimits, of record: TaskRecord) -> String {
        switch limit {
        case .global: taken(limits.global, "of the daemon", "maximumConcurrentTasks")
        case .owner: taken(limits.perOwner ?? 0, "of its user", "maximumConcurrentTasksPerUser")
        case .session:
            taken(
                limits.perSession[record.session] ?? 0, "of the session \"\(record.session.identifier)\"",
                "maximumConcurrentTasks of the session")
        case .host:
            taken(
                min(limits.perHost, limits.perHostOfSession[record.session] ?? .max), "for \(record.host)",
                "maximumConcurrentTasksPerHost, or httpMaximumConnectionsPerHost of the session")
        }
    }

    /// - Parameter setting: the setting for the number of slots.
    static func taken(_ slots: Int, _ whose: String, _ setting: String) -> String {
        slots == 1
            ? "The only slot \(whose) is taken (\(setting))." : "All \(slots) slots \(whose) are taken (\(setting))."
    }

    private func queueing(
        _ hold: HostGates.Hold, of record: TaskRecord, through proxy: String?
    ) -> Queueing {
        switch hold {
        case .silent(let next):
            .init(
                reason: .host,
                explanation:
                    "\(record.host) does not answer\(proxy.map { " through the proxy \($0)" } ?? ""); one task at a time probes it. dlctl retry \(record.id) "
                    + "probes now.", nextAttemptAt: wallTime(next))
        case .paced(let next):
            .init(
                reason: .host,
                explanation: "\(record.host) asked for fewer requests (Retry-After); its tasks begin one after the "
                    + "other. dlctl retry \(record.id) tries now.", nextAttemptAt: wallTime(next))
        }
    }

    /// - Parameter boot: milliseconds of the boot clock.
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
