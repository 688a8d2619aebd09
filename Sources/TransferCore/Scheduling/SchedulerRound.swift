import TransferModel

/// One run of the scheduler: the slots used now, and those used once the preempted runs have stopped.
struct SchedulerRound {
    typealias Candidate = Scheduler.Candidate

    /// nil while it equals `soon`: no run was told to stop.
    private var now: SlotUse?
    private var soon: SlotUse
    private var keeping: [Candidate]
    /// Running tasks without a slot.
    private let slotless: [Candidate]
    private let gates: HostGates
    private let turns: SlotTurns
    private let policy: SchedulingPolicy
    /// Gates that accept one task at a time and got it in this round.
    private var tried: Set<HostGates.Scope> = []
    /// For gates that accept a probe, the tasks in the order in which they may be the probe.
    private var probes: [HostGates.Scope: [Candidate]] = [:]
    private let time: ClockReading
    private(set) var decision = Scheduler.Decision()

    init(
        running: [Candidate], stopping: Set<TaskID>, limits: SlotLimits, gates: HostGates, turns: SlotTurns,
        policy: SchedulingPolicy, now time: ClockReading
    ) {
        soon = SlotUse(limits: limits)
        soon.add(running)
        keeping = running.filter { !stopping.contains($0.id) && $0.hold != .left }
        slotless = running.filter { $0.hold == .left }
        self.gates = gates
        self.turns = turns
        self.policy = policy
        self.time = time
    }

    /// Stops running tasks that exceed a lowered limit: the least important of each owner, the owners in turn. Tasks
    /// that took their slots back may exceed the limits, and no task is stopped for them.
    mutating func enforceLimits() {
        if keeping.count == soon.all, soon.isWithinLimits { return }
        now = soon
        soon.removeAll()
        soon.add(slotless)
        var kept: [Candidate] = []
        for task in Self.dealt(keeping.filter { $0.hold != .returned }) {
            if soon.fits(task) {
                soon.add(task)
                kept.append(task)
            } else {
                preempt(task) { .limitLowered($0) }
            }
        }
        let returned = keeping.filter { $0.hold == .returned }
        soon.add(returned)
        keeping = kept + returned
    }

    /// - Parameter cause: makes the reason from the limit that leaves no room for `run`, or for the task that replaces
    ///   it.
    private mutating func preempt(_ run: Candidate, for task: Candidate? = nil, _ cause: (SlotLimit) -> Displacement) {
        let full = soon.full(for: task ?? run)
        decision.preempt.append(run.id)
        decision.displacements[run.id] = cause(SlotLimit.asked.first(where: full.contains) ?? .global)
    }

    /// The best task of each owner, then the second best of each, and so on.
    private static func dealt(_ tasks: [Candidate]) -> [Candidate] {
        let owners = Dictionary(grouping: tasks, by: \.owner)
        guard owners.count > 1 else { return tasks.sorted { $0.precedes($1) } }
        let ranked = owners.values.flatMap { tasks in
            tasks.sorted { $0.precedes($1) }.enumerated().map { (rank: $0.offset, task: $0.element) }
        }
        return ranked.sorted { $0.rank != $1.rank ? $0.rank < $1.rank : $0.task.precedes($1.task) }.map(\.task)
    }

    mutating func place(_ candidates: [Candidate]) {
        var queue = FairQueue(admitted(candidates))
        // Closures, because the functions themselves would copy the round.
        while let owner = queue.owners.min(by: { comesFirst($0, $1) }),
            let session = queue.sessions(of: owner).min(by: { comesFirst($0, $1) }),
            let task = queue.first(of: session, load: soon)
        {
            queue.remove(task)
            switch place(task) {
            case .placed: break
            case .hostIsFull: queue.removeLane(of: task)
            case .sessionIsFull: queue.removeSession(task.session)
            }
        }
        decision.leavesOwnerWithout = queue.waiting.contains { soon.of($0) == 0 }
    }

    private func comesFirst(_ a: UserID, _ b: UserID) -> Bool {
        (soon.of(a), turns.lastServed(a), a.rawValue) < (soon.of(b), turns.lastServed(b), b.rawValue)
    }

    private func comesFirst(_ a: SessionKey, _ b: SessionKey) -> Bool {
        (soon.of(a), turns.lastServed(a), a.identifier) < (soon.of(b), turns.lastServed(b), b.identifier)
    }

    /// Candidates whose hosts accept tasks now. If a host accepts only one and a client asked for a task, that task is
    /// admitted alone. If it accepts a probe, all are admitted, and `probes` says which goes first.
    private mutating func admitted(_ candidates: [Candidate]) -> [Candidate] {
        var gated: [HostGates.Scope: [Candidate]] = [:]
        var admitted: [Candidate] = []
        var probed: Set<HostGates.Scope> = []
        for task in candidates {
            let permission = gates.permission(
                host: task.host, owner: task.owner, at: time, heedsSilence: !task.id.isVolatile)
            switch permission {
            case .any: admitted.append(task)
            case .one, .probe:
                let scope = gates.scope(host: task.host, owner: task.owner)
                gated[scope, default: []].append(task)
                if permission == .probe { probed.insert(scope) }
            case .none: break
            }
        }
        for (scope, tasks) in gated {
            let invited = tasks.filter(isInvited)
            if probed.contains(scope) {
                probes[scope] = invited.sorted { $0.precedes($1) } + Self.byFailures(tasks.filter { !isInvited($0) })
                admitted += tasks
            } else {
                admitted += invited.isEmpty ? tasks : invited
            }
        }
        return admitted
    }

    private func isInvited(_ task: Candidate) -> Bool {
        gates.invited(host: task.host, owner: task.owner) == task.id
    }

    private static func byFailures(_ tasks: [Candidate]) -> [Candidate] {
        tasks.sorted { $0.failures != $1.failures ? $0.failures < $1.failures : $0.precedes($1) }
    }

    private enum Placement { case placed, hostIsFull, sessionIsFull }

    /// - Parameter task: the task whose turn it is. If its host accepts a probe, the task that failed least often goes
    ///   in its place, if it gets a slot. An owner without a slot is not passed over: the run that was stopped for that
    ///   owner might become the probe and take its slot back.
    private mutating func place(_ task: Candidate) -> Placement {
        let isGated = gates.permission(host: task.host, owner: task.owner, at: time) != .any
        let scope = isGated ? gates.scope(host: task.host, owner: task.owner) : nil
        if let scope, tried.contains(scope) { return .hostIsFull }
        let hasNone = soon.of(task.owner) == 0
        let choices = scope.flatMap { probes[$0] }?.filter { $0.owner == task.owner || !hasNone }
        for choice in choices ?? [task] where seat(choice) {
            if let scope { tried.insert(scope) }
            return .placed
        }
        return soon.full(for: task).contains(.host) ? .hostIsFull : .sessionIsFull
    }

    /// - Returns: whether `task` gets a slot, now or when another run has released it.
    private mutating func seat(_ task: Candidate) -> Bool {
        if soon.fits(task) {
            if now?.fits(task) ?? true {
                now?.add(task)
                decision.start.append(task.id)
            }
        } else if let victim = victimOfPriority(task) {
            displace(victim, for: task) { .priority(of: task.id, $0) }
        } else if let victim = victimOfTurns(task) {
            displace(victim, for: task) { .turn($0) }
        } else {
            return false
        }
        soon.add(task)
        return true
    }

    private mutating func displace(_ run: Candidate, for task: Candidate, _ cause: (SlotLimit) -> Displacement) {
        preempt(run, for: task, cause)
        if now == nil { now = soon }
        soon.remove(run)
        keeping.removeAll { $0.id == run.id }
    }

    /// The run with the lowest priority of the same owner, if that is below the priority of `task` and its slot is the
    /// one needed. Among equals, one that can be resumed. It never picks a run of higher priority: that run would then
    /// stop the lowest one, and both would be stopped.
    private func victimOfPriority(_ task: Candidate) -> Candidate? {
        keeping.filter { run in
            run.owner == task.owner && run.priority < task.priority
                && (run.session == task.session || soon.of(run.session) > soon.of(task.session))
                && soon.fits(task, without: run)
        }.max { a, b in
            a.priority == b.priority && a.canResume != b.canResume ? b.canResume : a.precedes(b)
        }
    }

    /// A run whose turn is over, of an owner who has more of each full resource than the owner of `task`.
    private mutating func victimOfTurns(_ task: Candidate) -> Candidate? {
        let full = soon.full(for: task)
        var best: Candidate?
        for run in keeping where run.owner != task.owner && soon.fits(task, without: run) {
            guard let turn = turn(of: run, before: task, full) else { continue }
            let end = run.startedAt + turn.milliseconds
            if end > time.boot {
                decision.nextLook = min(decision.nextLook ?? end, end)
            } else if best.map({ isBetterVictim(run, $0) }) ?? true {
                best = run
            }
        }
        return best
    }

    /// How long `run` may keep its slot if `task` waits for it; nil = as long as it takes.
    private func turn(of run: Candidate, before task: Candidate, _ full: Set<SlotLimit>) -> Seconds? {
        let hasNone = soon.of(task.owner) == 0
        guard run.canResume || hasNone else { return nil }
        var excess = Int.max
        if full.contains(.global) { excess = min(excess, soon.of(run.owner) - soon.of(task.owner)) }
        if full.contains(.host) {
            excess = min(excess, soon.of(run.owner, on: run.host) - soon.of(task.owner, on: task.host))
        }
        if excess >= 2 { return hasNone && run.canResume ? policy.shortestTurn : policy.turn }
        // More owners than slots: each has one or none, and they take turns.
        return excess == 1 && hasNone ? policy.turn : nil
    }

    private func isBetterVictim(_ a: Candidate, _ b: Candidate) -> Bool {
        if a.canResume != b.canResume { return a.canResume }
        if soon.of(a.owner) != soon.of(b.owner) { return soon.of(a.owner) > soon.of(b.owner) }
        if a.owner != b.owner, a.startedAt != b.startedAt { return a.startedAt < b.startedAt }
        // Of one owner, the run that began first is nearest to its end. The last comparison makes the order total; it
        // has no meaning.
        if a.priority != b.priority { return a.priority < b.priority }
        return a.startedAt != b.startedAt ? a.startedAt > b.startedAt : b.precedes(a)
    }
}

/// Candidates by owner, session and host. Candidates of one lane are mostly adjacent, so few keys are hashed.
private struct FairQueue {
    typealias Candidate = Scheduler.Candidate

    /// The candidates of one session at one host.
    private struct Lane {
        let host: String
        /// Best first, from `next` on.
        var tasks: [Candidate]
        var next = 0

        var first: Candidate? { next < tasks.count ? tasks[next] : nil }
        /// Whether they are sorted; those from the store are.
        var isSorted: Bool { zip(tasks, tasks.dropFirst()).allSatisfy { !$1.precedes($0) } }
    }

    private var lanes: [SessionKey: [Lane]] = [:]
    private var ofOwners: [UserID: Set<SessionKey>] = [:]
    /// The owners of all candidates, placed or not.
    let waiting: Set<UserID>

    init(_ candidates: [Candidate]) {
        var waiting: Set<UserID> = []
        var first = candidates.startIndex
        while first < candidates.endIndex {
            let session = candidates[first].session
            let end = candidates[first...].firstIndex { $0.session != session } ?? candidates.endIndex
            Self.add(candidates[first..<end], to: &lanes[session, default: []])
            if waiting.insert(session.owner).inserted { ofOwners[session.owner] = [] }
            ofOwners[session.owner]?.insert(session)
            first = end
        }
        self.waiting = waiting
        for session in lanes.values.indices {
            for lane in lanes.values[session].indices where !lanes.values[session][lane].isSorted {
                lanes.values[session][lane].tasks.sort { $0.precedes($1) }
            }
        }
    }

    private static func add(_ tasks: ArraySlice<Candidate>, to lanes: inout [Lane]) {
        var places = Dictionary(lanes.enumerated().map { ($1.host, $0) }) { first, _ in first }
        var last: Int?
        for task in tasks {
            let place = last.flatMap { lanes[$0].host == task.host ? $0 : nil } ?? places[task.host] ?? lanes.count
            if place == lanes.count {
                lanes.append(Lane(host: task.host, tasks: []))
                places[task.host] = place
            }
            lanes[place].tasks.append(task)
            last = place
        }
    }

    var owners: Dictionary<UserID, Set<SessionKey>>.Keys { ofOwners.keys }
    func sessions(of owner: UserID) -> Set<SessionKey> { ofOwners[owner] ?? [] }

    /// The best task of the session: the highest priority, then the host with the fewest running tasks, so that no host
    /// starves another.
    func first(of session: SessionKey, load: SlotUse) -> Candidate? {
        guard let lanes = lanes[session] else { return nil }
        guard lanes.count > 1 else { return lanes[0].first }
        return lanes.compactMap(\.first).min { a, b in
            if a.priority != b.priority { return a.priority > b.priority }
            let (loadA, loadB) = (load.of(a.host), load.of(b.host))
            return loadA != loadB ? loadA < loadB : a.precedes(b)
        }
    }

    /// - Parameter task: the first task of its lane.
    mutating func remove(_ task: Candidate) {
        if Self.isOver(&lanes[task.session], after: task) { removeLane(of: task) }
    }

    /// Skips the first task of a lane and says whether it was the last.
    private static func isOver(_ lanes: inout [Lane]?, after task: Candidate) -> Bool {
        guard let index = lanes?.firstIndex(where: { $0.host == task.host }) else { return false }
        lanes?[index].next += 1
        return lanes?[index].first == nil
    }

    mutating func removeLane(of task: Candidate) {
        if let index = lane(of: task) { lanes[task.session]?.remove(at: index) }
        if lanes[task.session]?.isEmpty ?? true { removeSession(task.session) }
    }

    private func lane(of task: Candidate) -> Int? { lanes[task.session]?.firstIndex { $0.host == task.host } }

    mutating func removeSession(_ session: SessionKey) {
        lanes[session] = nil
        ofOwners[session.owner]?.remove(session)
        if ofOwners[session.owner]?.isEmpty ?? true { ofOwners[session.owner] = nil }
    }
}
