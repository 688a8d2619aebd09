import TransferModel

/// Keeps a host that does not answer from filling slots: while the breaker is open, one task at a time probes the host.
///
/// It judges whether the host answers, not what it answers. A status is an answer: a task that gets a 503 waits for its
/// own back-off and holds no other task. Times are milliseconds of the boot clock.
package struct CircuitBreaker: Sendable, Hashable {
    /// Failures in a row, of at least two tasks, that open it.
    package static let failuresToOpen = 5

    private let policy: SchedulingPolicy
    private var failuresInRow = 0
    private var firstFailed: TaskID?
    private var hasFailedForSeveral = false
    /// Probes since it opened that brought no good answer.
    private var probes = 0
    private var probe: TaskID?
    /// When the next probe may begin; nil while it is closed.
    package private(set) var nextProbeAt: Int64?

    package init(policy: SchedulingPolicy = SchedulingPolicy()) {
        self.policy = policy
    }

    package var isOpen: Bool { nextProbeAt != nil }
    /// There is nothing worth remembering.
    package var isFresh: Bool { failuresInRow == 0 && nextProbeAt == nil }

    /// The host did not answer `task`: no connection, no byte, or silence.
    ///
    /// Only the start of a probe moves the time of the next one: attempts that began before cannot push it away.
    package mutating func attemptFailed(_ task: TaskID, at now: ClockReading) {
        failuresInRow += 1
        if firstFailed == nil { firstFailed = task }
        if firstFailed != task { hasFailedForSeveral = true }
        guard !isOpen, failuresInRow >= Self.failuresToOpen, hasFailedForSeveral else { return }
        probes = 0
        nextProbeAt = now.boot + interval(after: probes).milliseconds
    }

    /// An attempt begins. While the breaker is open, the attempt is a probe, and the next probe waits for its interval.
    /// That holds even if this one hangs: a probe in a black hole does not delay the tasks after it.
    /// - Parameter now: when the task was admitted. If that was before the breaker opened, it is no probe.
    package mutating func attemptStarted(_ task: TaskID, at now: ClockReading) {
        guard let nextProbeAt, now.boot >= nextProbeAt else { return }
        probe = task
        probes += 1
        self.nextProbeAt = now.boot + interval(after: probes).milliseconds
    }

    /// The attempt ended without telling anything about the host (pause, cancel, preemption, disk): another task may
    /// probe at once.
    package mutating func attemptEnded(_ task: TaskID, at now: ClockReading) {
        guard isOpen, probe == task else { return }
        probe = nil
        probes -= 1
        nextProbeAt = now.boot
    }

    /// A client wants a try now.
    package mutating func probeNow(at now: ClockReading) {
        if isOpen { nextProbeAt = now.boot }
    }

    /// The host answered below 500, or a transfer received bytes.
    package mutating func answered() { self = CircuitBreaker(policy: policy) }

    /// The host answered 500 or above: it is there, though perhaps only its gateway. All tasks may try; the next
    /// silence opens the breaker again.
    package mutating func refused() {
        guard isOpen else { return }
        nextProbeAt = nil
        probe = nil
        failuresInRow = Self.failuresToOpen - 1
    }

    private func interval(after probes: Int) -> Seconds {
        var interval = policy.firstProbe.rawValue
        for _ in 0..<min(probes, 8) { interval *= 2 }
        return min(Seconds(interval), policy.longestProbe)
    }
}
