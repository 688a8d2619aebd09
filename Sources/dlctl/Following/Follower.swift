import Glibc
import TransferModel
import TransferRPC

/// Shows tasks until all are over, or forever. One loop reads one stream of inputs, which a pump and a clock feed.
struct Follower {
    var plan: FollowPlan
    var endsWhenOver: Bool
    /// Nil means no limit: the follower waits until all tasks are over.
    var limit: FollowLimit?
    /// Called when Ctrl-C ends the display.
    var onInterrupt: @Sendable () -> Void
    var reconnect: LinkPump.Reconnect

    /// - Returns: the final states of the tasks.
    /// - Throws: `CommandFailure.interrupted`, `.timedOut`, or `.refused` if the daemon does not allow following these
    ///   tasks.
    func run(_ client: any DaemonCalling, display: any FollowDisplay) async throws -> FollowState {
        let (inputs, continuation) = AsyncStream.makeStream(of: FollowInput.self)
        let signals = Signals([SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT, SIGTSTP]) { continuation.yield(.signal($0)) }
        let pumping = Task { [plan, reconnect] in
            var pump = LinkPump(plan, reconnect: reconnect) { continuation.yield($0) }
            await pump.run(first: client)
        }
        let ticking = Task {
            while !Task.isCancelled {
                continuation.yield(.tick)
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        defer {
            signals.cancel()
            pumping.cancel()
            ticking.cancel()
        }
        return try await loop(inputs, display: display)
    }

    private func loop(_ inputs: AsyncStream<FollowInput>, display: any FollowDisplay) async throws -> FollowState {
        var display = display
        var state = FollowState(followsNewTasks: plan.tasks == nil)
        for task in plan.known { display.show(state.take(task), state, now: .now()) }
        var expected = Set(plan.tasks ?? []).subtracting(plan.known.map(\.id))
        for await input in inputs {
            switch input {
            case .signal(let number): try signalled(number, &display, state)
            case .tick: display.tick(state, now: .now())
            case .ended(let view): display.ended(view)
            case .refused(let failure):
                display.leave()
                throw failure
            case .began(let head): state.began(at: head)
            case .storeChanged(let head): state.storeChanged(head: head)
            case .event(let event): display.show(state.apply(event), state, now: .now())
            case .snapshot(let task):
                expected.remove(task.id)
                display.show(state.take(task), state, now: .now())
            case .missing(let id):
                expected.remove(id)
                display.show(state.vanished(id), state, now: .now())
            case .backlog(let counts): state.takeCounts(counts)
            case .linkLost(let next): display.show(state.linkLost(nextAttemptAt: next), state, now: .now())
            case .linkRestored: display.show(state.linkRestored(), state, now: .now())
            }
            if endsWhenOver, expected.isEmpty, state.isOver { break }
            if let limit, limit.isOver {
                display.leave()
                throw limit.failure(state)
            }
            if !endsWhenOver { state.dropEnded() }
        }
        display.finish(state, now: .now())
        return state
    }

    private func signalled(_ number: Int32, _ display: inout any FollowDisplay, _ state: FollowState) throws {
        switch number {
        case SIGWINCH, SIGCONT: display.resized(state, now: .now())
        case SIGTSTP:
            display.leave()
            kill(getpid(), SIGSTOP)
        default:
            display.leave()
            onInterrupt()
            throw CommandFailure.interrupted
        }
    }
}

/// How long a user waits.
struct FollowLimit: Sendable {
    let duration: Seconds
    private let end: ContinuousClock.Instant

    /// The time starts now.
    init(_ duration: Seconds) {
        self.duration = duration
        end = .now + .seconds(duration.rawValue)
    }

    var isOver: Bool { .now >= end }

    func failure(_ state: FollowState) -> CommandFailure {
        let open = state.all.filter { !$0.isOver }
        let paused = TaskRanges(open.filter { $0.state == .paused }.map(\.id))
        let others = open.count { $0.state != .paused }
        var standing: [String] = []
        if others > 0 {
            let subject = others < open.count ? "\(others)" : others == 1 ? "it" : "they"
            standing.append("\(subject) \(others == 1 ? "continues" : "continue") in the daemon")
        }
        if others < open.count {
            let count = open.count - others
            let subject = others > 0 ? "\(count)" : count == 1 ? "it" : "they"
            standing.append(
                "\(subject) \(count == 1 ? "is" : "are") paused (to resume \(count == 1 ? "it" : "them"): "
                    + "dlctl resume \(paused.arguments))")
        }
        return .timedOut(
            "\(Figures.count(open.count, "task")) did not end within \(Figures.duration(duration)); "
                + standing.joined(separator: ", "))
    }
}

extension FollowState {
    /// Takes the daemon's counts, and subtracts the tasks that are shown individually.
    mutating func takeCounts(_ counts: [String: Int]) {
        func beyond(_ state: TaskState) -> Int {
            let shown = tasks.values.count { $0.state == state && !$0.isOver }
            return max(0, (counts[state.rawValue] ?? 0) - shown)
        }
        backlog = Backlog(queued: beyond(.queued), waiting: beyond(.waiting), paused: beyond(.paused))
    }

    /// Drops tasks that have ended, after the display has shown that.
    mutating func dropEnded() {
        let ended = Set(tasks.values.filter(\.isOver).map(\.id))
        if !ended.isEmpty { drop(ended) }
    }
}
