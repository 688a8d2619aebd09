import TransferClient
import TransferModel
import TransferRPC

/// Keeps a subscription alive across restarts of the daemon, and turns what arrives into `FollowInput`s.
///
/// After a reconnection, it subscribes from the last sequence number that it saw, so no stored event is missed or
/// repeated.
struct LinkPump {
    private let plan: FollowPlan
    private let reconnect: Reconnect
    private let yield: @Sendable (FollowInput) -> Void
    private var last: SequenceNumber?
    private var connections = 0
    private var outage = Outage()

    /// - Returns: nil if the caller must look for the daemon again.
    /// - Throws: `CommandFailure` if it must give up.
    typealias Reconnect = @Sendable (Outage) async throws -> (any DaemonCalling)?

    init(_ plan: FollowPlan, reconnect: @escaping Reconnect, yield: @escaping @Sendable (FollowInput) -> Void) {
        self.plan = plan
        self.reconnect = reconnect
        self.yield = yield
        last = plan.after
    }

    /// Runs until its Swift task is cancelled, or until the daemon refuses or does not come back.
    mutating func run(first: any DaemonCalling) async {
        var client: (any DaemonCalling)? = first
        while !Task.isCancelled {
            if let client, await serve(client) { return }
            await client?.close()
            if Task.isCancelled { return }
            yield(.linkLost(nextAttemptAt: Timestamp.now().advanced(by: Seconds(outage.delay))))
            do {
                try await outage.pass()
                client = try await reconnect(outage)
            } catch let failure as CommandFailure {
                yield(.refused(failure))
                return
            } catch {
                client = nil
            }
        }
    }

    /// Serves one connection to its end. Returns true if continuing is pointless.
    private mutating func serve(_ client: any DaemonCalling) async -> Bool {
        do {
            let (head, events) = try await client.follow(parameters())
            connections += 1
            if let last, head < last {
                // Another store answers now. Its numbers are unrelated to the earlier ones.
                self.last = nil
                yield(.storeChanged(head: head))
                return false
            }
            if last == nil { yield(.began(head: head)) }
            last = last ?? head
            yield(.linkRestored)
            outage = Outage()
            try await snapshot(client)
            try await forward(events, client)
            return false
        } catch let error as ClientError where error.isSilence {
            yield(.refused(CommandFailure(error)))
            return true
        } catch let error as TransferError where !Self.isLoss(error) {
            yield(.refused(.refused(error)))
            return true
        } catch {
            return false
        }
    }

    private func parameters() -> Subscribe {
        let filter = plan.tasks.flatMap { $0.count <= FollowPlan.longestFilter ? $0 : nil }
        return Subscribe(
            after: last.map { .after($0) } ?? .now, tasks: filter, progressInterval: plan.progressInterval,
            owner: plan.owner)
    }

    /// Errors that mean that the daemon is gone or busy, and not that it refuses.
    private static func isLoss(_ error: TransferError) -> Bool {
        [.shuttingDown, .limitReached, .networkLost, .networkConnect, .networkTimeout].contains(error.code)
    }

    private mutating func forward(
        _ events: AsyncThrowingStream<EventView, any Error>, _ client: any DaemonCalling
    ) async throws {
        // Without ids, the counts of all waiting tasks are shown.
        let pulse =
            plan.tasks == nil
            ? Pulse(client, every: .seconds(1)) { [yield] in yield(.backlog($0.tasks)) } : Pulse(client)
        defer { pulse.cancel() }
        for try await event in events {
            // If the daemon goes before the task is fetched, it will send the event again.
            if let task = event.task, Self.ends(event.type) { try await announceEnd(of: task, client) }
            if let sequence = event.sequence { last = max(last ?? sequence, sequence) }
            yield(.event(event))
            if plan.tasks == nil, let task = event.task, event.type == .taskStarted { await refresh(task, client) }
        }
        try await pulse.requireAnswer()
    }

    private static func ends(_ type: EventType) -> Bool {
        type == .taskCompleted || type == .taskFailed || type == .taskCancelled
    }

    private func announceEnd(of task: TaskID, _ client: any DaemonCalling) async throws {
        guard plan.fetchesEnded else { return }
        do {
            let view = try await client.call(Methods.getTask, .init(id: task))
            yield(.ended(view))
        } catch let error as TransferError where error.code == .taskNotFound {
            // It was removed meanwhile.
        }
    }

    /// Fetches a task that was unknown, because an event says little about it.
    private func refresh(_ task: TaskID, _ client: any DaemonCalling) async {
        guard let view = try? await client.call(Methods.getTask, .init(id: task)) else { return }
        yield(.snapshot(FollowedTask(view)))
    }

    private func snapshot(_ client: any DaemonCalling) async throws {
        guard let ids = plan.tasks else {
            let page = try await client.call(
                Methods.listTasks,
                ListTasks(states: [.running, .waiting], order: .oldest, limit: 200, owner: plan.owner))
            for view in page.tasks { yield(.snapshot(FollowedTask(view))) }
            return
        }
        let isFirst = connections == 1
        let overBefore = Set(plan.known.filter(\.isOver).map(\.id))
        guard isFirst ? plan.known.isEmpty : ids.count <= FollowPlan.longestSnapshot else { return }
        for id in ids {
            do {
                let view = try await client.call(Methods.getTask, .init(id: id))
                if view.state.isFinal, plan.fetchesEnded, !overBefore.contains(id) { yield(.ended(view)) }
                yield(.snapshot(FollowedTask(view)))
            } catch let error as TransferError where error.code == .taskNotFound {
                yield(.missing(id))
            }
        }
    }
}

extension ClientError {
    /// A new connection would be accepted, but not answered either.
    var isSilence: Bool {
        switch self {
        case .noAnswer: true
        case .noDaemon, .notPermitted, .connectionLost, .protocolMismatch: false
        }
    }
}
