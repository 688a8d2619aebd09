import Logging
import Threading
import TransferModel
import TransferRPC

/// Serves the event log to subscribers. Each subscriber gets every event that it asked for once, in order, at its own
/// pace.
///
/// Subscribers that keep up read a tail in memory, and late ones read the store. A commit only appends to the tail and
/// wakes them.
package final class EventFeed: Sendable {
    package struct Limits: Sendable {
        /// The limits of the tail in memory: a number of events, and an approximate number of bytes.
        package var tail = 10_000
        package var tailBytes = 16 << 20
        /// The number of events sent at a time.
        package var page = 100
        /// A subscription that is further behind than this is sent events only as fast as its client reads them,
        /// instead of being dropped.
        package var pacedBehind: Int64 = 100
        package var subscriptionsPerClient = Bounds.subscriptions
        /// A client that reads no byte for this long is dropped.
        package var stall: Duration = .seconds(60)
        /// The longest interval between two searches for such clients.
        package var stallCheck: Duration = .seconds(5)

        package init() {}
    }

    private struct State {
        var tail: EventTail
        var subscriptions: [String: Subscription] = [:]
        var nextName = 0
        /// Tasks that have stopped running, although a snapshot may still show them.
        var ended: Set<TaskID> = []
        var ticker: Task<Void, Never>?
        /// The next tick; nil if there is no ticker.
        var nextTick: ContinuousClock.Instant?
        /// The number of tickers started so far. Only the last one continues.
        var tickers = 0
        var stalls: StallWatch
        var isStopped = false
    }

    let log: any EventLog
    let limits: Limits
    private let progress: @Sendable () -> [ProgressFigures]
    private let progressInterval: @Sendable () -> Seconds
    private let bindings: SessionBindings
    private let logger: Logger
    private let state: Guarded<State>

    /// - Parameters:
    ///   - progress: returns the figures of everything that runs. It is called only while somebody subscribes to
    ///   progress.
    ///   - progressInterval: the setting of that name.
    ///   - bindings: the connections of volatile sessions.
    package init(
        log: any EventLog, limits: Limits = Limits(), progress: @escaping @Sendable () -> [ProgressFigures],
        progressInterval: @escaping @Sendable () -> Seconds, bindings: SessionBindings = SessionBindings(),
        logger: Logger
    ) {
        self.log = log
        self.bindings = bindings
        self.limits = limits
        self.progress = progress
        self.progressInterval = progressInterval
        self.logger = logger
        state = Guarded(
            State(
                tail: EventTail(head: .zero, limit: limits.tail, byteLimit: limits.tailBytes),
                stalls: StallWatch(limit: limits.stall)))
    }

    /// Reads the head of the log. The store must already call `committed`. Call this once, before the first
    /// `subscribe`.
    package func start() async throws {
        let head = try await log.head()
        state.withLock { $0.tail.begin(at: head) }
    }

    /// Ends all subscriptions.
    package func stop() {
        let (subscriptions, ticker) = state.withLock { state in
            state.isStopped = true
            defer { state.subscriptions = [:] }
            return (Array(state.subscriptions.values), state.ticker)
        }
        ticker?.cancel()
        subscriptions.forEach { $0.end() }
    }

    /// Takes the events of a commit. It is quick, because it runs on the store's writer thread.
    package func committed(_ events: [EventRecord]) {
        let subscriptions = state.withLock { state in
            guard !state.subscriptions.isEmpty else {
                // Nobody subscribes now. Later subscribers read these events from the store.
                if let last = events.last?.sequence { state.tail.begin(at: last) }
                return [Subscription]()
            }
            state.tail.append(events)
            for event in events { Self.note(event, in: &state.ended) }
            return Array(state.subscriptions.values)
        }
        subscriptions.forEach { $0.wake() }
    }

    /// Takes the events of a commit of the volatile store. They go to the subscriptions of the session's connection,
    /// as fast as its client reads, and are not kept.
    package func committedVolatile(_ events: [EventRecord]) {
        let subscriptions = state.withLock { state in
            guard !state.subscriptions.isEmpty else { return [Subscription]() }
            for event in events { Self.note(event, in: &state.ended) }
            return Array(state.subscriptions.values)
        }
        guard !subscriptions.isEmpty else { return }
        // Events that come together mostly belong to one session.
        var known: (session: SessionKey, connection: Int?)?
        for event in events {
            if known?.session != event.session { known = (event.session, bindings.connection(of: event.session)) }
            guard let connection = known?.connection else { continue }
            let kept = TailEvent(event)
            for subscription in subscriptions
            where subscription.sink.id == connection && subscription.filter.matches(event) {
                subscription.deliver(kept)
            }
        }
    }

    package var head: SequenceNumber { state.withLock { $0.tail.head } }
    package var subscriptionCount: Int { state.withLock { $0.subscriptions.count } }

    /// How many events the slowest subscriber has not been sent.
    package var furthestLag: Int64 {
        state.withLock { state in
            state.subscriptions.values.reduce(0) { max($0, state.tail.head.rawValue - $1.cursor.rawValue) }
        }
    }

    /// Tells whether this owner follows under the durable name now.
    package func isConnected(_ name: String, owner: UserID) -> Bool {
        state.withLock { state in
            state.subscriptions.values.contains {
                $0.subscriber == name && $0.peer == owner && !$0.sink.isClosed
            }
        }
    }

    /// Removes the subscriptions of a client that is gone.
    package func closed(_ client: Int) {
        let gone = state.withLock { state in
            let gone = state.subscriptions.values.filter { $0.sink.id == client }
            for subscription in gone { state.subscriptions[subscription.name] = nil }
            return gone
        }
        gone.forEach { $0.end() }
    }
}

// MARK: - Subscriptions

extension EventFeed {
    /// A subscription that has its position in the log and sends nothing before `begin`.
    package struct Ticket: Sendable {
        package var name: String
        package var after: SequenceNumber
        package var head: SequenceNumber
        let subscription: Subscription
    }

    /// Registers a subscription. From here on, it misses no event.
    /// - Throws: `limit.reached`, `request.bad_field`; what the store throws.
    package func subscribe(_ request: SubscriptionRequest, for sink: any EventSink) async throws -> Ticket {
        let cursor = try await request.start(in: self)
        let (subscription, after, head) = try state.withLock { state in
            guard !state.isStopped else {
                throw TransferError(.shuttingDown, "The daemon is stopping; subscribe again in a moment.")
            }
            let own = state.subscriptions.values.count { $0.sink.id == sink.id }
            guard own < limits.subscriptionsPerClient else {
                throw TransferError(
                    .limitReached, "A connection has at most \(limits.subscriptionsPerClient) subscriptions; end one.")
            }
            state.nextName += 1
            let after = cursor ?? state.tail.head
            let subscription = Subscription(
                name: "s\(state.nextName)", sink: sink, filter: request.filter, peer: request.peer,
                subscriber: request.subscriber, progressInterval: request.interval(default: progressInterval()),
                cursor: after)
            state.subscriptions[subscription.name] = subscription
            return (subscription, after, state.tail.head)
        }
        // The client may have gone before `closed` could find its subscription.
        if sink.isClosed { closed(sink.id) }
        return Ticket(name: subscription.name, after: after, head: head, subscription: subscription)
    }

    /// Starts to send, now that the client knows the subscription's name.
    package func begin(_ ticket: Ticket) {
        let subscription = ticket.subscription
        subscription.begin()
        Task { await self.pump(subscription) }
        quickenTicker(to: min(subscription.progressInterval ?? limits.stallCheck, limits.stallCheck))
    }

    /// Ends a subscription of this client.
    /// - Throws: `request.bad_field` if the client has no subscription of that name.
    package func unsubscribe(_ name: String, of client: Int) throws(TransferError) {
        let subscription = state.withLock { state -> Subscription? in
            guard let subscription = state.subscriptions[name], subscription.sink.id == client else { return nil }
            state.subscriptions[name] = nil
            return subscription
        }
        guard let subscription else {
            throw TransferError.bad("subscription", "this connection has none named \(name).")
        }
        subscription.end()
    }

    private func pump(_ subscription: Subscription) async {
        while !subscription.isEnded {
            do {
                guard head > subscription.cursor else {
                    guard await subscription.waitForWake() else { return }
                    continue
                }
                let isFarBehind = head.rawValue - subscription.cursor.rawValue > limits.pacedBehind
                if isFarBehind, await !subscription.sink.waitForRoom() { return }
                subscription.deliver(try await page(for: subscription))
            } catch {
                logger.error("cannot read events for a subscriber", metadata: ["error": "\(error)"])
                // The client reconnects and resumes at its number. A gap that it cannot see would be worse.
                subscription.sink.close()
                return
            }
        }
    }

    private func page(for subscription: Subscription) async throws -> EventPage {
        let cursor = subscription.cursor
        if let recent = state.withLock({ $0.tail.page(after: cursor, count: limits.page) }) {
            let end = recent.last?.record.sequence ?? cursor
            return EventPage(events: recent.filter { subscription.filter.matches($0.record) }, cursor: end)
        }
        let (events, head, first) = try await log.events(subscription.filter, after: cursor, limit: limits.page)
        let end = events.count < limits.page ? head : events.last?.sequence ?? head
        let lost = first.rawValue > cursor.rawValue + 1 ? first : nil
        return EventPage(events: events.map { TailEvent($0) }, cursor: max(cursor, end), lost: lost)
    }
}

// MARK: - Progress

extension EventFeed {
    private static func note(_ event: EventRecord, in ended: inout Set<TaskID>) {
        guard let task = event.task else { return }
        switch event.type {
        case .taskStarted: ended.remove(task)
        case .taskWaiting, .taskPaused, .taskQueued, .taskCompleted, .taskFailed, .taskCancelled, .taskRemoved:
            ended.insert(task)
        case .taskAdded, .taskRedirected, .taskResponse, .taskResumed, .taskRestarted, .taskProgress, .taskUpdated,
            .taskDecision,
            .sessionOpened, .sessionPaused, .sessionResumed, .sessionDrained, .sessionInvalidated, .settingsChanged,
            .eventsLagged:
            break
        }
    }

    /// Brings the next tick forward if the new subscription wants figures earlier. Otherwise the subscription waits for
    /// the planned tick, so a steady arrival of clients delays nobody.
    private func quickenTicker(to interval: Duration) {
        state.withLock { state in
            guard !state.isStopped, state.nextTick.map({ $0 > .now + interval }) ?? true else { return }
            state.ticker?.cancel()
            state.tickers += 1
            state.nextTick = .now + interval
            let number = state.tickers
            state.ticker = Task { await self.tick(number) }
        }
    }

    /// Runs as long as there are subscriptions.
    private func tick(_ number: Int) async {
        while let interval = tickInterval(number) {
            try? await Task.sleep(for: interval)
            if Task.isCancelled { return }
            let (subscriptions, stalled) = state.withLock { state in
                let subscriptions = Array(state.subscriptions.values)
                return (subscriptions, state.stalls.stalled(subscriptions.map(\.sink), at: .now))
            }
            for sink in stalled {
                logger.info("dropping a subscriber that does not read", metadata: ["client": "\(sink.id)"])
                sink.close()
            }
            sendProgress(to: subscriptions.filter { $0.progressInterval != nil })
        }
    }

    /// Returns nil if nobody subscribes, or if another ticker has started.
    private func tickInterval(_ number: Int) -> Duration? {
        state.withLock { state in
            guard state.tickers == number else { return nil }
            guard !state.subscriptions.isEmpty else {
                state.ended = []
                state.nextTick = nil
                return nil
            }
            let interval = state.subscriptions.values.reduce(limits.stallCheck) { interval, subscription in
                min(interval, subscription.progressInterval ?? interval)
            }
            state.nextTick = .now + interval
            return interval
        }
    }

    private func sendProgress(to subscriptions: [Subscription]) {
        let time = Timestamp.now()
        let figures = progress()
        let shown = Set(figures.map(\.task))
        // Done even if nobody wants progress: otherwise `ended` would grow for as long as a client stays connected.
        state.withLock { $0.ended.formIntersection(shown) }
        guard !subscriptions.isEmpty else { return }
        let events = figures.map { ProgressEvent($0, at: time) }
        let now = ContinuousClock.now
        for subscription in subscriptions {
            let visible = events.filter { event in
                !event.figures.task.isVolatile
                    || bindings.connection(of: event.figures.session) == subscription.sink.id
            }
            subscription.deliver(visible, at: now) { state.withLock { ($0.tail.head, $0.ended) } }
        }
    }
}
