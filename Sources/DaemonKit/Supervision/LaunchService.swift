import Logging
import TransferModel
import TransferStore

/// What supervision asks of launches.
package protocol LaunchServing: Sendable {
    /// A task of the session is over; somebody may have to be started to hear of it.
    func finalEvent(in session: SessionKey)
    /// - Throws: `request.bad_field`, `permission.denied`.
    func check(_ configuration: SessionConfiguration) throws(TransferError)
}

/// Starts a session's program when its subscriber has unseen final events and no connection
/// (`sendsLaunchEvents`), and looks again after `launchInterval` as long as that holds.
package actor LaunchService: LaunchServing {
    private let store: TransferStore
    private let runner: LaunchRunner
    private let time: any TimeSource
    private let logger: Logger
    private let isConnected: @Sendable (_ subscriber: String, _ owner: UserID) -> Bool
    private let defaults: @Sendable () -> SessionDefaults
    private let unseen: @Sendable (SessionKey, _ subscriber: String) async throws -> Int
    private let sleep: @Sendable (Seconds) async -> Void
    /// Sessions that are being looked at; true where something ended meanwhile, which that look may have missed.
    private var looks: [SessionKey: Bool] = [:]
    /// Sessions that somebody looks at again after a while: one for each, however many of its tasks end.
    private var waiting: Set<SessionKey> = []

    /// - Parameters:
    ///   - defaults: what a session that does not say its `launchInterval` has.
    ///   - unseen: how many final events the subscriber has not acknowledged; nil: as the store says.
    package init(
        store: TransferStore, runner: LaunchRunner, time: any TimeSource, logger: Logger,
        isConnected: @escaping @Sendable (_ subscriber: String, _ owner: UserID) -> Bool,
        defaults: @escaping @Sendable () -> SessionDefaults,
        unseen: (@Sendable (SessionKey, _ subscriber: String) async throws -> Int)? = nil,
        sleep: @escaping @Sendable (Seconds) async -> Void = { try? await Task.sleep(for: $0.duration) }
    ) {
        self.store = store
        self.runner = runner
        self.time = time
        self.logger = logger
        self.isConnected = isConnected
        self.defaults = defaults
        if let unseen {
            self.unseen = unseen
        } else {
            self.unseen = { key, subscriber in
                try await store.read { try $0.unacknowledgedFinalEvents(key, subscriber: subscriber) }
            }
        }
        self.sleep = sleep
    }

    package nonisolated func check(_ configuration: SessionConfiguration) throws(TransferError) {
        if let launch = configuration.launch { try runner.validate(launch) }
        guard configuration.sendsLaunchEvents == true else { return }
        guard configuration.subscriber?.isEmpty == false else {
            throw TransferError(
                .badField, "configuration.subscriber: missing; name the subscriber whose events are to be seen.",
                details: ["field": "configuration.subscriber"])
        }
        guard configuration.launch != nil else {
            throw TransferError(
                .badField, "configuration.launch: missing; say a unit or an argv.",
                details: ["field": "configuration.launch"])
        }
    }

    package nonisolated func finalEvent(in session: SessionKey) {
        Task { await consider(session) }
    }

    /// Looks at every session once: events may have been left by the last daemon.
    package func start() async {
        let sessions = (try? await store.read { try $0.sessions(owner: nil) }) ?? []
        for session in sessions where session.configuration.sendsLaunchEvents == true {
            await consider(session.key)
        }
    }

    func consider(_ key: SessionKey) async {
        guard looks[key] == nil else {
            looks[key] = true
            return
        }
        var next: Seconds?
        repeat {
            looks[key] = false
            next = await attempt(key)
        } while looks[key] == true
        looks[key] = nil
        guard let again = next, waiting.insert(key).inserted else { return }
        Task { [weak self, sleep] in
            await sleep(again)
            await self?.considerAgain(key)
        }
    }

    private func considerAgain(_ key: SessionKey) async {
        waiting.remove(key)
        await consider(key)
    }

    /// Starts the program where it has to be; returns when to look again.
    private func attempt(_ key: SessionKey) async -> Seconds? {
        do {
            guard let session = try await store.read({ try $0.session(key) }),
                session.configuration.sendsLaunchEvents == true,
                let launch = session.configuration.launch, let subscriber = session.configuration.subscriber
            else { return nil }
            guard try await unseen(key, subscriber) > 0 else { return nil }
            let interval = session.configuration.launchInterval ?? defaults().launchInterval
            guard !isConnected(subscriber, key.owner) else { return max(interval, 1) }
            await runner.launch(launch, for: key, interval: interval, now: time.reading().boot)
            return max(interval, 1)
        } catch {
            logger.warning("cannot decide on a launch", metadata: ["session": "\(key)", "error": "\(error)"])
            return 60
        }
    }
}
