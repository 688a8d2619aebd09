import TransferModel

/// Picks which queued tasks get a slot and which running ones give theirs up; sees values, never the queue itself.
package struct Scheduler: Sendable {
    /// A queued or a running task, as far as slots are concerned.
    package struct Candidate: Sendable, Hashable {
        package var id: TaskID
        package var session: SessionKey
        package var host: String
        /// 0…1, higher first.
        package var priority: Double
        /// Order among tasks of one priority, smaller first.
        package var position: Double
        /// It failed before, and its own back-off is over.
        package var hasFailed: Bool

        package init(
            id: TaskID, session: SessionKey, host: String, priority: Double, position: Double, hasFailed: Bool = false
        ) {
            self.hasFailed = hasFailed
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
    }

    /// - Parameters:
    ///   - running: tasks that hold a slot now.
    ///   - stopping: those of them that were preempted before and have not yet let go.
    package static func pick(
        candidates: [Candidate], running: [Running], stopping: Set<TaskID> = [], limits: SlotLimits,
        breaker: CircuitBreaker, at now: ClockReading
    ) -> Decision {
        var round = Round(running: running, stopping: stopping, limits: limits, breaker: breaker, now: now)
        round.enforceLimits()
        round.place(candidates)
        return round.decision
    }
}

/// How many tasks may run: in all, for each host, for each session, and for each host within a session.
package struct SlotLimits: Sendable, Hashable {
    package var global: Int
    package var perHost: Int
    /// Sessions without an entry have no limit of their own.
    package var perSession: [SessionKey: Int]
    package var perHostOfSession: [SessionKey: Int]

    package init(
        global: Int, perHost: Int, perSession: [SessionKey: Int] = [:], perHostOfSession: [SessionKey: Int] = [:]
    ) {
        self.global = global
        self.perHost = perHost
        self.perSession = perSession
        self.perHostOfSession = perHostOfSession
    }
}

/// Tasks counted by everything that has a limit.
private struct SlotUse {
    private enum Slot: Hashable {
        case global
        case host(String)
        case session(SessionKey)
        case hostOfSession(SessionKey, String)
    }

    private var used: [Slot: Int] = [:]
    private let limits: SlotLimits

    init(limits: SlotLimits) { self.limits = limits }

    mutating func add(_ task: Scheduler.Candidate) { slots(of: task).forEach { used[$0, default: 0] += 1 } }
    mutating func remove(_ task: Scheduler.Candidate) { slots(of: task).forEach { used[$0, default: 0] -= 1 } }
    func fits(_ task: Scheduler.Candidate) -> Bool { slots(of: task).allSatisfy(hasRoom) }
    func onHost(_ host: String) -> Int { used[.host(host), default: 0] }

    /// Whether `task` would fit if `victim` were gone.
    func fits(_ task: Scheduler.Candidate, without victim: Scheduler.Candidate) -> Bool {
        let freed = Set(slots(of: victim))
        return slots(of: task).allSatisfy { slot in
            used[slot, default: 0] - (freed.contains(slot) ? 1 : 0) < limit(of: slot)
        }
    }

    private func hasRoom(_ slot: Slot) -> Bool { used[slot, default: 0] < limit(of: slot) }

    private func slots(of task: Scheduler.Candidate) -> [Slot] {
        [.global, .host(task.host), .session(task.session), .hostOfSession(task.session, task.host)]
    }

    private func limit(of slot: Slot) -> Int {
        switch slot {
        case .global: limits.global
        case .host: limits.perHost
        case .session(let session): limits.perSession[session] ?? .max
        case .hostOfSession(let session, _): min(limits.perHostOfSession[session] ?? .max, limits.perHost)
        }
    }
}

/// One run of the scheduler: what is used now, and what will be once the preempted have let go.
private struct Round {
    typealias Candidate = Scheduler.Candidate

    private var now: SlotUse
    private var soon: SlotUse
    private var keeping: [Candidate]
    private let breaker: CircuitBreaker
    /// Hosts that are held back and got a task in this round.
    private var tried: Set<String> = []
    private let time: ClockReading
    private(set) var decision = Scheduler.Decision()

    init(
        running: [Candidate], stopping: Set<TaskID>, limits: SlotLimits, breaker: CircuitBreaker, now time: ClockReading
    ) {
        var used = SlotUse(limits: limits)
        running.forEach { used.add($0) }
        now = used
        soon = SlotUse(limits: limits)
        keeping = running.filter { !stopping.contains($0.id) }
        self.breaker = breaker
        self.time = time
    }

    /// Running tasks beyond a limit that was lowered give way, the least important first.
    mutating func enforceLimits() {
        var kept: [Candidate] = []
        for task in keeping.sorted(by: isMoreImportant) {
            if soon.fits(task) {
                soon.add(task)
                kept.append(task)
            } else {
                decision.preempt.append(task.id)
            }
        }
        keeping = kept
    }

    mutating func place(_ candidates: [Candidate]) {
        let levels = Dictionary(grouping: candidates, by: \.priority)
        for priority in levels.keys.sorted(by: >) {
            placeLevel(levels[priority] ?? [])
        }
    }

    /// Tasks of one priority: the host with the fewest running tasks is served next, so that no host starves another.
    private mutating func placeLevel(_ level: [Candidate]) {
        var lanes: [String: ArraySlice<Candidate>] = [:]
        for (host, tasks) in Dictionary(grouping: level, by: \.host) {
            lanes[host] = tasks.sorted(by: isMoreImportant)[...]
        }
        while let host = nextHost(lanes), let task = lanes[host]?.popFirst() {
            if lanes[host]?.isEmpty ?? true { lanes[host] = nil }
            place(task)
        }
    }

    private func nextHost(_ lanes: [String: ArraySlice<Candidate>]) -> String? {
        lanes.min { a, b in
            let (loadA, loadB) = (soon.onHost(a.key), soon.onHost(b.key))
            if loadA != loadB { return loadA < loadB }
            guard let firstA = a.value.first, let firstB = b.value.first else { return a.key < b.key }
            return isMoreImportant(firstA, firstB)
        }?.key
    }

    private mutating func place(_ task: Candidate) {
        switch breaker.permission(host: task.host, task: task.id, hasFailed: task.hasFailed, at: time) {
        case .free: break
        case .asProbe: if tried.contains(task.host) { return }
        case .held: return
        }
        if soon.fits(task) {
            if now.fits(task) {
                now.add(task)
                decision.start.append(task.id)
            }
        } else if let victim = victim(for: task) {
            soon.remove(victim)
            keeping.removeAll { $0.id == victim.id }
            decision.preempt.append(victim.id)
        } else {
            return
        }
        soon.add(task)
        if breaker.isOpen(host: task.host) { tried.insert(task.host) }
    }

    /// The least important running task of a strictly lower priority whose slot is the one needed.
    private func victim(for task: Candidate) -> Candidate? {
        keeping.filter { $0.priority < task.priority && soon.fits(task, without: $0) }
            .max(by: isMoreImportant)
    }

    private func isMoreImportant(_ a: Candidate, _ b: Candidate) -> Bool {
        if a.priority != b.priority { return a.priority > b.priority }
        if a.position != b.position { return a.position < b.position }
        return a.id < b.id
    }
}
