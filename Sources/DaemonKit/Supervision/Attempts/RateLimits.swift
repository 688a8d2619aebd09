import CurlEngine
import DaemonSetup
import Threading
import TransferModel

/// Applies the rate limits of the daemon, the sessions and the tasks in the engine.
final class RateLimits: Sendable {
    private let engine: any ExchangePerforming
    private let configuration: @Sendable () -> Configuration
    /// Tasks that have their own limit in the engine.
    private let limited = Guarded(Set<TaskID>())

    init(engine: any ExchangePerforming, configuration: @escaping @Sendable () -> Configuration) {
        self.engine = engine
        self.configuration = configuration
    }

    /// Applies the daemon's own limits as they are configured now.
    func applyGlobal() {
        engine.setRateLimits(global: configuration().global.downloadRateLimit)
        engine.setUploadRateLimits(global: configuration().global.uploadRateLimit)
    }

    func apply(of session: SessionRecord) {
        engine.setRateLimit(session: session.key, session.configuration.downloadRateLimit ?? .unlimited)
        engine.setUploadRateLimit(session: session.key, session.configuration.uploadRateLimit ?? .unlimited)
    }

    /// Watches committed events: the limits of a session end with it.
    func follow(_ events: [EventRecord]) {
        for event in events where event.type == .sessionInvalidated {
            engine.setRateLimit(session: event.session, .unlimited)
            engine.setUploadRateLimit(session: event.session, .unlimited)
        }
    }

    /// Applies the task's own limit in the direction of its bytes.
    func apply(_ rate: ByteRate, of record: TaskRecord) {
        let isKnown = limited.withLock { limited in
            rate > .unlimited
                ? !limited.insert(record.id).inserted : !limited.isEmpty && limited.remove(record.id) != nil
        }
        guard isKnown || rate > .unlimited else { return }
        switch record.spec.kind {
        case .download, .data: engine.setRateLimit(task: record.id, rate)
        case .upload: engine.setUploadRateLimit(task: record.id, rate)
        }
    }
}
