import TransferModel

/// Picks which queued tasks get a slot and which running ones give theirs up; sees values, never the queue itself.
///
/// Slots rotate by owner, then by session, then by priority and position: weighted fair queueing with equal weights. A
/// free slot goes to the owner with the fewest. An owner without a slot takes one from the owner with the most.
package struct Scheduler: Sendable {
    /// A queued or running task, as far as slots are concerned.
    package struct Candidate: Sendable, Hashable {
        package var id: TaskID
        package var session: SessionKey
        package var host: String
        /// 0…1, higher first; compared among tasks of one owner.
        package var priority: Double
        /// Order among tasks of one priority, smaller first.
        package var position: Double
        /// How often a queued task failed in a row; its own back-off is over.
        package var failures: Int
        /// A running task can be resumed, so that a stop loses nothing.
        package var canResume: Bool
        /// When a running task got its slot, in milliseconds of the boot clock.
        package var startedAt: Int64
        package var hold: Hold

        /// How a running task holds its slot.
        package enum Hold: Sendable, Hashable {
            case held
            /// It left its slot, because only its client can make it continue. It counts only in the limits of its
            /// session.
            case left
            /// It left its slot and has continued. It counts again. If this exceeds a limit, no task is stopped for it.
            case returned
        }

        package init(
            id: TaskID, session: SessionKey, host: String, priority: Double, position: Double, failures: Int = 0,
            canResume: Bool = true, startedAt: Int64 = 0, hold: Hold = .held
        ) {
            self.hold = hold
            self.failures = failures
            self.canResume = canResume
            self.startedAt = startedAt
            self.id = id
            self.session = session
            self.host = host
            self.priority = priority
            self.position = position
        }
    }
    package typealias Running = Candidate

    package struct Decision: Sendable, Hashable {
        package var start: [TaskID] = []
        package var preempt: [TaskID] = []
        /// Why, for each of them.
        package var displacements: [TaskID: Displacement] = [:]
        /// When another owner may take the slot of a running task (boot clock, milliseconds).
        package var nextLook: Int64?
        /// An owner without a slot has a candidate that got none.
        package var leavesOwnerWithout = false
    }

    /// - Parameters:
    ///   - running: tasks that hold a slot now.
    ///   - stopping: those of them that were preempted earlier and have not stopped yet.
    package static func pick(
        candidates: [Candidate], running: [Running], stopping: Set<TaskID> = [], limits: SlotLimits,
        gates: HostGates = HostGates(), turns: SlotTurns = SlotTurns(), policy: SchedulingPolicy = SchedulingPolicy(),
        at now: ClockReading
    ) -> Decision {
        var round = SchedulerRound(
            running: running, stopping: stopping, limits: limits, gates: gates, turns: turns, policy: policy, now: now)
        round.enforceLimits()
        round.place(candidates)
        return round.decision
    }

    /// Limits that keep `task` from a slot now, in the order in which a person wants to know them; empty if none does.
    package static func blocking(_ task: Candidate, running: [Running], limits: SlotLimits) -> [SlotLimit] {
        var used = SlotUse(limits: limits)
        for other in running where other.id != task.id { used.add(other) }
        let full = used.full(for: task)
        return SlotLimit.asked.filter(full.contains)
    }
}

extension Scheduler.Candidate {
    var owner: UserID { session.owner }

    /// Whether it comes before another task of its session.
    func precedes(_ other: Self) -> Bool {
        if priority != other.priority { return priority > other.priority }
        if position != other.position { return position < other.position }
        return id < other.id
    }
}

/// The times by which slots and hosts are shared. No promise depends on their exact values. The simulation plants wrong
/// ones and detects them.
package struct SchedulingPolicy: Sendable, Hashable {
    /// A run is not stopped for another owner's first slot before it has had this long: most tasks end by then.
    package var shortestTurn: Seconds = 1
    /// How long a run keeps its slot while other owners wait for more of the slots.
    package var turn: Seconds = 30
    /// Time from the moment a host is held to the first probe. The time to each further probe is twice as long.
    package var firstProbe: Seconds = 5
    /// The longest time between probes.
    package var longestProbe: Seconds = 60

    package init() {}
}
