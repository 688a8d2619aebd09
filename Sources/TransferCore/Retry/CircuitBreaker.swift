import TransferModel

/// Keeps hosts that fail from filling slots: after failures in a row from several tasks only one at a time tries.
///
/// Tasks that failed themselves served their own back-off and are never held longer by the breaker; it holds
/// those that have not tried yet. Times are milliseconds of the boot clock.
package struct CircuitBreaker: Sendable {
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
    private let policy: RetryPolicy

    /// - Parameter policy: its ceilings are the time between probes.
    package init(policy: RetryPolicy = RetryPolicy()) {
        self.policy = policy
    }

    /// Whether `task` may try `host` now.
    package func allows(host: String, task: TaskID, at now: ClockReading) -> Bool {
        guard let state = hosts[host], state.isOpen else { return true }
        if state.failed.contains(task) { return true }
        return state.probe == nil && now.boot >= state.nextProbeAt
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
        if hosts[host]?.probe == task { hosts[host]?.probe = nil }
    }

    /// The host answered: everything is allowed again.
    package mutating func recordSuccess(host: String) {
        hosts[host] = nil
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
        if hosts.count > Self.rememberedHosts { forgetOldHosts(now) }
    }

    private mutating func forgetOldHosts(_ now: ClockReading) {
        hosts = hosts.filter { $0.value.probe != nil || $0.value.nextProbeAt + Self.memory.milliseconds > now.boot }
    }
}
