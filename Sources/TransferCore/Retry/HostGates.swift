import TransferModel

/// Which hosts take new tasks now: the circuit breaker and the pace of each host that has one.
///
/// Thousands of hosts may be held at a time, so nothing walks over all of them: `takeReleased` tells of each host once, in the
/// order of the times. Times are milliseconds of the boot clock.
package struct HostGates: Sendable {
    /// How many tasks of a host may begin.
    package enum Permission: Sendable, Hashable {
        case any
        /// One: whose turn it is.
        case one
        /// One, and a task that failed less often comes before any other.
        case probe
        /// None before this time of the boot clock.
        case none(until: Int64)
    }

    /// Why a host takes no task now.
    package enum Hold: Sendable, Hashable {
        /// It does not answer; the next probe begins at this time of the boot clock.
        case silent(nextProbe: Int64)
        /// It asked for a pause or a lower rate.
        case paced(nextStart: Int64)
    }

    /// What an attempt showed of its host.
    package enum Report: Sendable, Hashable {
        /// It answered below 500, or bytes arrived.
        case answered
        /// It answered 500 or above.
        case refused
        /// It answered 503 and named a time, or 429 with or without one.
        case throttled(retryAfter: Seconds?)
        /// It did not answer.
        case failed
        /// Pause, cancel, preemption, disk, no network here.
        case nothing
    }

    private struct Gate: Sendable {
        var breaker: CircuitBreaker
        var pace: OriginPace?
        /// The task that a client wants to be tried.
        var invited: TaskID?
        var touchedAt: Int64 = 0

        var nextStartAt: Int64? {
            guard let pace = pace?.nextStartAt else { return breaker.nextProbeAt }
            return max(pace, breaker.nextProbeAt ?? pace)
        }
    }

    /// Beyond so many hosts, those that were quiet for `memory` are forgotten.
    static let rememberedHosts = 4096
    static let memory: Seconds = 3600

    private var gates: [String: Gate] = [:]
    /// When hosts may be tried; an entry whose host has another time by now does not count.
    private var times = TimeQueue<String>()
    /// Hosts that take tasks again, until they are taken.
    private var released: [String] = []
    private var forgetsAt = Self.rememberedHosts

    private let policy: SchedulingPolicy

    package init(policy: SchedulingPolicy = SchedulingPolicy()) {
        self.policy = policy
    }

    /// No host is held, and none has failed of late.
    package var isEmpty: Bool { gates.isEmpty }

    package func permission(host: String, at now: ClockReading) -> Permission {
        guard let gate = gates[host], let next = gate.nextStartAt else { return .any }
        if now.boot < next { return .none(until: next) }
        return gate.breaker.isOpen || gate.pace?.prefersUntried == true ? .probe : .one
    }

    /// The task of `host` that a client asked for, which comes before all others.
    package func invited(host: String) -> TaskID? { gates[host]?.invited }

    /// Tasks that clients asked for at hosts that may be tried now.
    package func invitations(at now: ClockReading) -> [TaskID] {
        invitedHosts.compactMap { host in
            guard let gate = gates[host], let next = gate.nextStartAt, next <= now.boot else { return nil }
            return gate.invited
        }
    }
    private var invitedHosts: Set<String> = []

    package func hold(host: String, at now: ClockReading) -> Hold? {
        guard let gate = gates[host], let next = gate.nextStartAt, now.boot < next || gate.breaker.isOpen else {
            return nil
        }
        if let probe = gate.breaker.nextProbeAt { return .silent(nextProbe: max(probe, next)) }
        return .paced(nextStart: next)
    }

    package mutating func attemptStarted(host: String, task: TaskID, at now: ClockReading) {
        change(host, at: now, ifKnown: true) { gate in
            gate.breaker.attemptStarted(task, at: now)
            gate.pace?.attemptStarted(at: now)
            if gate.invited == task { gate.invited = nil }
        }
    }

    /// - Parameter startedAt: when the attempt began.
    package mutating func report(
        _ report: Report, host: String, task: TaskID, startedAt: Int64, at now: ClockReading
    ) {
        switch report {
        case .answered:
            change(host, at: now, ifKnown: true) { gate in
                gate.breaker.answered()
                gate.pace?.answered(startedAt: startedAt, at: now)
            }
        case .refused: change(host, at: now, ifKnown: true) { $0.breaker.refused() }
        case .throttled(let retryAfter):
            change(host, at: now, ifKnown: retryAfter == nil) { gate in
                gate.breaker.answered()
                if gate.pace != nil {
                    gate.pace?.refused(retryAfter: retryAfter, startedAt: startedAt, at: now)
                } else if let retryAfter {
                    gate.pace = OriginPace(retryAfter: retryAfter, at: now)
                }
            }
        case .failed: change(host, at: now) { $0.breaker.attemptFailed(task, at: now) }
        case .nothing: change(host, at: now, ifKnown: true) { $0.breaker.attemptEnded(task, at: now) }
        }
    }

    /// A transfer of `host` receives bytes: if the breaker is open, it closes.
    /// - Returns: whether it was open.
    package mutating func received(from host: String, at now: ClockReading) -> Bool {
        guard gates[host]?.breaker.isOpen ?? false else { return false }
        change(host, at: now, ifKnown: true) { $0.breaker.answered() }
        return true
    }

    /// A client asks that `task` be tried at once.
    /// - Returns: whether its host was held.
    package mutating func tryNow(host: String, task: TaskID, at now: ClockReading) -> Bool {
        guard gates[host]?.nextStartAt != nil else { return false }
        invitedHosts.insert(host)
        change(host, at: now, ifKnown: true) { gate in
            gate.invited = task
            gate.breaker.probeNow(at: now)
            gate.pace?.tryNow(at: now)
        }
        return true
    }

    /// Hosts that were held and may be tried since this was asked last.
    package mutating func takeReleased(at now: ClockReading) -> [String] {
        while let (time, host) = times.first, time <= now.boot {
            times.removeFirst()
            if gates[host]?.nextStartAt == time { released.append(host) }
        }
        defer { released = [] }
        return released
    }

    /// The caller could not release what it took.
    package mutating func putBack(_ hosts: [String]) { released += hosts }

    /// When the next host may be tried; nil if none waits for its time.
    package mutating func nextChange() -> Int64? {
        while let (time, host) = times.first {
            if gates[host]?.nextStartAt == time { return time }
            times.removeFirst()
        }
        return nil
    }

    private mutating func change(
        _ host: String, at now: ClockReading, ifKnown: Bool = false, _ body: (inout Gate) -> Void
    ) {
        guard var gate = gates[host] ?? (ifKnown ? nil : Gate(breaker: CircuitBreaker(policy: policy))) else { return }
        let before = gate.nextStartAt
        body(&gate)
        gate.touchedAt = now.boot
        if gate.pace?.isOver(at: now) ?? false { gate.pace = nil }
        let after = gate.nextStartAt
        let isFresh = gate.breaker.isFresh && gate.pace == nil
        if isFresh || gate.invited == nil { invitedHosts.remove(host) }
        gates[host] = isFresh ? nil : gate
        if let after, after != before { times.insert(host, at: after) }
        if after == nil, before != nil { released.append(host) }
        if gates.count > forgetsAt { forgetQuietHosts(now) }
    }

    private mutating func forgetQuietHosts(_ now: ClockReading) {
        let old = gates.filter { $0.value.touchedAt + Self.memory.milliseconds <= now.boot }
        for (host, gate) in old {
            gates[host] = nil
            invitedHosts.remove(host)
            if gate.nextStartAt != nil { released.append(host) }
        }
        forgetsAt = max(Self.rememberedHosts, 2 * gates.count)
    }
}
