import TransferModel

/// Keeps hosts that fail from filling slots: after failures in a row from several tasks only one at a time tries.
///
/// Tasks that failed themselves served their own back-off and are never held longer by the breaker; it holds
/// those that have not tried yet. Times are milliseconds of the boot clock.
///
/// Thousands of hosts may be held at a time. So nobody goes through them: which one may be tried again is told once
/// (`takeReleased`), and in the order of their times.
package struct CircuitBreaker: Sendable {
    /// What a task may do.
    package enum Permission: Sendable {
        case free
        /// One task of the host may, to see how it does.
        case asProbe
        case held
    }

    package static let failuresToOpen = 5
    package static let tasksToOpen = 2
    /// Failed tasks remembered for each host; one that was forgotten is held like a new one.
    static let rememberedTasks = 512
    /// Beyond so many hosts, those without a failure for `memory` are forgotten.
    static let rememberedHosts = 4096
    static let memory: Seconds = 3600

    private struct Host: Sendable {
        var failuresInRow = 0
        var failed: Set<TaskID> = []
        var nextProbeAt: Int64 = 0
        var probe: TaskID?
        var isOpen: Bool { failuresInRow >= failuresToOpen && failed.count >= tasksToOpen }
    }

    private var hosts: [String: Host] = [:]
    /// When hosts may be probed; an entry whose host has another time by now does not count.
    private var probes = TimeQueue<String>()
    /// Hosts that are held no longer, until they are taken.
    private var released: [String] = []
    /// Hosts at which the old ones are looked for: going through all of them must be rare.
    private var forgetsAt = Self.rememberedHosts
    private let policy: RetryPolicy

    /// - Parameter policy: its ceilings are the time between probes.
    package init(policy: RetryPolicy = RetryPolicy()) {
        self.policy = policy
    }

    /// Whether `task` may try `host` now.
    /// - Parameter hasFailed: its own back-off is over.
    package func permission(
        host: String, task: TaskID, hasFailed: Bool = false, at now: ClockReading
    ) -> Permission {
        guard let state = hosts[host], state.isOpen else { return .free }
        if hasFailed || state.failed.contains(task) { return .free }
        return isHeld(host: host, at: now) ? .held : .asProbe
    }

    package func allows(host: String, task: TaskID, at now: ClockReading) -> Bool {
        permission(host: host, task: task, at: now) != .held
    }

    /// Whether tasks of `host` that have not failed themselves must wait.
    package func isHeld(host: String, at now: ClockReading) -> Bool {
        guard let state = hosts[host], state.isOpen else { return false }
        return state.probe != nil || now.boot < state.nextProbeAt
    }

    /// Hosts that were held and are not any more since this was asked last: they answered, or may be probed.
    package mutating func takeReleased(at now: ClockReading) -> [String] {
        while let (time, host) = probes.first, time <= now.boot {
            probes.removeFirst()
            if nextProbe(host: host) == time { released.append(host) }
        }
        defer { released = [] }
        return released
    }

    /// What was taken could not be made use of.
    package mutating func putBack(_ hosts: [String]) { released += hosts }

    /// When the next host that is held may be probed (boot clock, milliseconds); nil where none waits for its time.
    package mutating func nextProbe() -> Int64? {
        while let (time, host) = probes.first {
            if nextProbe(host: host) == time { return time }
            probes.removeFirst()
        }
        return nil
    }

    package func isOpen(host: String) -> Bool { hosts[host]?.isOpen ?? false }

    /// When a held task may try `host` as its probe (boot clock, milliseconds); nil while none is held.
    package func nextProbe(host: String) -> Int64? {
        guard let state = hosts[host], state.isOpen, state.probe == nil else { return nil }
        return state.nextProbeAt
    }

    /// An attempt begins; at an open host it is the probe.
    package mutating func started(host: String, task: TaskID) {
        guard let state = hosts[host], state.isOpen, state.probe == nil else { return }
        hosts[host]?.probe = task
    }

    /// The attempt ended without saying anything about the host (pause, cancel, preemption, disk).
    package mutating func ended(host: String, task: TaskID) {
        guard let state = hosts[host], state.probe == task else { return }
        hosts[host]?.probe = nil
        // Where the task had its own back-off behind it, the host's time may not have come yet.
        probes.insert(host, at: state.nextProbeAt)
    }

    /// The host answered: everything is allowed again.
    package mutating func recordSuccess(host: String) {
        if hosts.removeValue(forKey: host)?.isOpen ?? false { released.append(host) }
    }

    /// The host answers a transfer that may go on for hours: where it was held, everything is allowed again.
    /// - Returns: whether it was held.
    package mutating func recordAnswer(host: String) -> Bool {
        guard isOpen(host: host) else { return false }
        recordSuccess(host: host)
        return true
    }

    /// The host failed (connection, silence, 5xx); what the user or the disk did is not the host's failure.
    package mutating func recordFailure(host: String, task: TaskID, at now: ClockReading) {
        var state = hosts[host] ?? Host()
        state.failuresInRow += 1
        if state.failed.count < Self.rememberedTasks { state.failed.insert(task) }
        if state.probe == task { state.probe = nil }
        let wait = policy.ceiling(failuresInRow: max(1, state.failuresInRow - Self.failuresToOpen + 1))
        state.nextProbeAt = now.boot + wait.milliseconds
        hosts[host] = state
        if state.isOpen { probes.insert(host, at: state.nextProbeAt) }
        if hosts.count > forgetsAt { forgetOldHosts(now) }
    }

    private mutating func forgetOldHosts(_ now: ClockReading) {
        let old = hosts.filter { $0.value.probe == nil && $0.value.nextProbeAt + Self.memory.milliseconds <= now.boot }
        for (host, state) in old {
            hosts[host] = nil
            if state.isOpen { released.append(host) }
        }
        forgetsAt = max(Self.rememberedHosts, 2 * hosts.count)
    }
}
